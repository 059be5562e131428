#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "common/core/control_queue.h"
#include "common/core/credit.h"
#include "common/core/recv_stream.h"
#include "common/core/send_stream.h"
#include "common/core/sent_packets.h"

namespace mcdtp {

// One stream both ways, and what has been said of it to each side.
struct Stream {
  Stream(std::uint64_t peer_grants, std::uint64_t we_grant) : recv(we_grant), window(we_grant) {
    send.raise_credit(peer_grants);
  }

  SendStream send;
  RecvStream recv;
  CreditWindow window;
  bool fin_queued = false;       // the peer is told where the stream ends
  bool opened = false;           // OPEN has come, or we sent it; bytes may come before it
  bool released = false;         // its user is done with it
  bool send_done = false;        // the peer has all of it, or knows that it was given up
  bool complete_queued = false;  // the peer is told that we have all
  bool stopped = false;          // our reader wants no more: what comes is discarded
  bool in_again = false;         // stands in the queue of streams with bytes to send again
  bool in_fresh = false;         // ... with new bytes
  bool writer_waits = false;     // our writer met a full buffer
  bool readable_told = false;    // our reader has been told and has not come yet
};

// What happened to streams that their users have to know.
struct StreamNews {
  enum class Kind : std::uint8_t {
    kOpened,    // the peer opened it; `target` says for what
    kReadable,  // bytes, the end, or a reset are there to be read
    kWritable,  // room again
    kStopped,   // the peer wants no more
  };
  Kind kind;
  StreamId stream = 0;
  std::string target;
};

// All streams of a session: their credit, who sends next, and what the peer is to be told. Knows no packets.
class Streams {
 public:
  // What a writer may have waiting beyond what can be sent at once, in bytes.
  static constexpr std::uint64_t kWriteAhead = 512 * 1024;
  // Streams that may exist at once: each can hold a block of its buffer for a single byte, and together they
  // stay within the default memory.
  static constexpr std::size_t kMaxStreams = kDefaultMemory / StreamBuffer::kBlockSize;

  Streams(Role role, ControlQueue& control, std::deque<StreamNews>& news);

  // The user's side.
  // A stream to `target`. REQUIRES: target.size() <= kMaxTargetSize.
  StreamId open(std::string target);
  // Room for the writer; empty while it has to wait, and then kWritable follows.
  MutableBytes write_room(StreamId id);
  void wrote(StreamId id, std::size_t size);
  void finish(StreamId id);
  void reset(StreamId id);
  // In-order bytes from `skip` on, up to the end of a block.
  Bytes readable(StreamId id, std::size_t skip = 0);
  void consume(StreamId id, std::size_t size);
  // The reader wants no more.
  void stop(StreamId id);
  // The peer's side ended here: all was read, or it was given up.
  bool read_to_end(StreamId id) const;
  bool was_reset(StreamId id) const;
  // The user is done with the stream: it is forgotten once the peer is, too. What is unread is discarded, and
  // what was not finished is reset.
  void release(StreamId id);

  // The sender's side.
  struct Piece {
    StreamId stream = 0;
    SendStream::Piece piece;
  };
  bool has_data() const { return !again_.empty() || (!fresh_.empty() && session_room() > 0); }
  // Bytes for one packet with `room` left, its head included; nullopt: none, or too little room.
  std::optional<Piece> take(std::size_t room);
  void copy(const Piece& piece, MutableBytes out);
  void covered(const DataRef& ref);
  void requeue(const DataRef& ref);
  // A control frame that was lost, in the form it should have now; nullopt: no longer true.
  std::optional<ControlFrame> renewed(const ControlFrame& frame);

  // The peer's frames. nullopt: taken; else what the peer did wrong.
  [[nodiscard]] std::optional<std::string> on_data(Time now, const DataFrame& frame, Duration rtt);
  [[nodiscard]] std::optional<std::string> on_fin(const FinFrame& frame);
  [[nodiscard]] std::optional<std::string> on_reset(const ResetFrame& frame);
  [[nodiscard]] std::optional<std::string> on_open(const OpenFrame& frame);
  void on_stop(const StopFrame& frame);
  void on_stream_credit(const StreamCreditFrame& frame);
  void on_session_credit(const SessionCreditFrame& frame);
  void on_complete(const CompleteFrame& frame);

  // REQUIRES: bytes >= kMinMemory.
  void set_memory(std::uint64_t bytes) { tuner_.set_memory(bytes); }
  std::size_t count() const { return streams_.size(); }
  // Bytes of all streams, ever: sent for the first time, sent again, and taken by their readers.
  std::uint64_t bytes_sent() const { return session_sent_; }
  std::uint64_t bytes_resent() const { return resent_; }
  std::uint64_t bytes_taken() const { return session_consumed_; }
  // Bytes held for sending, over all streams.
  std::uint64_t buffered() const;

 private:
  Stream* find(StreamId id);
  const Stream* find(StreamId id) const;
  Stream& create(StreamId id);
  // The stream a frame of the peer is about, made at its first frame; nullptr: it is over, or not the peer's
  // to make.
  Stream* find_or_create(StreamId id);
  std::uint64_t session_room() const { return session_limit_ - session_sent_; }
  void queue_fresh(StreamId id, Stream& stream);
  void queue_again(StreamId id, Stream& stream);
  std::optional<Piece> take_from(std::deque<StreamId>& queue, std::size_t room);
  void tell_readable(StreamId id, Stream& stream);
  void tell_writable(StreamId id, Stream& stream);
  void after_receive(StreamId id, Stream& stream);
  void renew_credit(StreamId id, Stream& stream);
  bool holds_too_much(const Stream& stream) const;
  void grow_windows();
  void forget_if_done(StreamId id);
  // What is wrong with a frame for a stream that does not exist; nullopt: it is over, the frame a late
  // duplicate.
  std::optional<std::string> absent(StreamId id) const;
  std::optional<std::string> fault(StreamId id, RecvStream::Verdict verdict) const;

  ControlQueue& control_;
  std::deque<StreamNews>& news_;
  std::map<StreamId, Stream> streams_;
  StreamId next_own_;
  StreamId next_peer_;
  std::deque<StreamId> again_;  // streams with requeued bytes
  std::deque<StreamId> fresh_;  // streams with new bytes within their own credit
  std::uint64_t run_ = 0;       // bytes that the front of fresh_ has sent in its turn
  std::uint64_t session_limit_ = kInitialSessionWindow;  // granted to us
  std::uint64_t session_sent_ = 0;                       // of it used: new bytes of all streams
  CreditWindow session_window_{kInitialSessionWindow};   // granted by us
  std::uint64_t resent_ = 0;
  std::uint64_t session_highest_ = 0;  // of it used
  std::uint64_t session_consumed_ = 0;
  WindowTuner tuner_{kDefaultMemory};
};

}  // namespace mcdtp
