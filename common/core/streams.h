#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "common/core/control_queue.h"
#include "common/core/credit.h"
#include "common/core/recv_stream.h"
#include "common/core/send_stream.h"
#include "common/core/sent_packets.h"
#include "common/core/turns.h"

namespace mcdtp {

// One stream both ways, and what has been said of it to each side.
struct Stream {
  // `initial`: the credit that each side has before any was given.
  Stream(BlockPool& sending, BlockPool& receiving, std::uint64_t initial)
      : send(sending), recv(receiving, initial), window(initial) {
    send.raise_credit(initial);
  }

  SendStream send;
  RecvStream recv;
  CreditWindow window;
  std::uint64_t committed = 0;   // bytes that our reader has not taken, or that the peer may still send
  std::uint64_t excess = 0;      // of them, beyond the reserve
  bool fin_queued = false;       // the peer is told where the stream ends
  bool opened = false;           // OPEN has come, or we sent it; bytes may come before it
  bool reached = false;          // OPENED has come, or we sent it
  bool released = false;         // its user is done with it
  bool send_done = false;        // the peer has all of it, or knows that it was given up
  bool complete_queued = false;  // the peer is told that we have all
  bool stopped = false;          // our reader wants no more: what comes is discarded
  bool in_again = false;         // stands in the Turns of streams with bytes to send again
  bool in_fresh = false;         // ... with new bytes
  bool writer_waits = false;     // our writer met a full buffer
  bool writer_ahead = false;     // ... and has not let it run empty since
  bool readable_told = false;    // our reader has been told and has not come yet
  bool broken_off = false;       // by the peer, after its last byte
  ResetReason reason = ResetReason::kGivenUp;  // of the peer's RESET
};

// What happened to streams that their users have to know.
struct StreamNews {
  enum class Kind : std::uint8_t {
    kOpened,     // the peer opened it; `target` says for what
    kReached,    // the peer has what we opened it to
    kReadable,   // bytes, the end, or a reset are there to be read
    kWritable,   // room again
    kStopped,    // the peer wants no more
    kDelivered,  // the peer has all of it, to our end
  };
  Kind kind;
  StreamId stream = 0;
  std::string target;
};

// All streams of a session: their credit, who sends next, and what the peer is to be told. Knows no packets.
class Streams {
 public:
  // The most that a writer may have waiting to be sent for the first time, in bytes; less where the peer takes less.
  static constexpr std::uint64_t kWriteAhead = 512 * 1024;

  Streams(Role role, ControlQueue& control, std::deque<StreamNews>& news);

  // The user's side.
  // A stream to `target`. REQUIRES: can_open(), target.size() <= kMaxTargetSize.
  StreamId open(std::string target);
  bool can_open() const { return room() > 0; }
  // Streams that can be opened.
  std::size_t room() const {
    return shares_.max_streams() - std::min(shares_.max_streams(), streams_.size());
  }
  // Room for the writer; empty while it has to wait, and then kWritable follows.
  MutableBytes write_room(StreamId id);
  // The same, several pieces that follow one another: how many.
  std::size_t write_rooms(StreamId id, std::span<MutableBytes> rooms);
  // REQUIRES: the room given last has `size` bytes or more.
  void wrote(StreamId id, std::size_t size);
  void finish(StreamId id);
  // No bytes follow: what they came from was reset after the last one. The reader has them all, and then the reset.
  void break_off(StreamId id);
  void reset(StreamId id, ResetReason reason = ResetReason::kGivenUp);
  // Says OPENED of a stream that the peer opened.
  void reached(StreamId id);
  // The peer opened it in vain: given up both ways, for this reason, and released.
  void refuse(StreamId id, ResetReason reason);
  // In-order bytes from `skip` on, up to the end of a block.
  Bytes readable(StreamId id, std::size_t skip = 0);
  void consume(StreamId id, std::size_t size);
  // The reader wants no more.
  void stop(StreamId id);
  // The peer's side ended here: all was read, or it was given up.
  bool read_to_end(StreamId id) const;
  // All is here up to the peer's end of it.
  bool all_received(StreamId id) const;
  bool was_broken_off(StreamId id) const;
  bool was_reset(StreamId id) const;
  // We gave up our side, or the peer made us.
  bool gave_up(StreamId id) const;
  // REQUIRES: was_reset().
  ResetReason reset_reason(StreamId id) const;
  // The user is done with the stream: it is forgotten once the peer is, too. What is unread is discarded, and
  // what was not finished is reset.
  void release(StreamId id);

  // The sender's side.
  struct Piece {
    StreamId stream = 0;
    SendStream::Piece piece;
  };
  bool has_data() const { return turns_.has_again() || (turns_.has_fresh() && session_room() > 0); }
  // Some of it was sent before.
  bool has_again() const { return turns_.has_again(); }
  // Whether so much can be sent before credit, or the end of what there is, stops it, in bytes. A writer that waits has
  // more.
  bool has_ahead(std::uint64_t bytes) const;
  // Bytes for one packet with `room` left, its head included; nullopt: none, or too little room.
  std::optional<Piece> take(std::size_t room);
  void copy(const Piece& piece, MutableBytes out);
  // The same bytes once more; nullopt: some of them are not held any longer.
  std::optional<Piece> once_more(const DataRef& ref);
  void covered(const DataRef& ref);
  void requeue(const DataRef& ref);
  void withdraw(const DataRef& ref);
  // A control frame that was lost, in the form it should have now; nullopt: no longer true.
  std::optional<ControlFrame> renewed(const ControlFrame& frame);

  // The peer's frames. nullopt: taken; else what the peer did wrong.
  [[nodiscard]] std::optional<std::string> on_data(Time now, const DataFrame& frame, Duration rtt);
  [[nodiscard]] std::optional<std::string> on_fin(const FinFrame& frame);
  [[nodiscard]] std::optional<std::string> on_reset(const ResetFrame& frame);
  [[nodiscard]] std::optional<std::string> on_open(const OpenFrame& frame);
  [[nodiscard]] std::optional<std::string> on_opened(const OpenedFrame& frame);
  void on_stop(const StopFrame& frame);
  void on_stream_credit(const StreamCreditFrame& frame);
  void on_session_credit(const SessionCreditFrame& frame);
  void on_complete(const CompleteFrame& frame);

  // REQUIRES: bytes >= kMinMemory.
  // What we would grant. Until it is agreed on the session gets no more credit than any agreement allows: credit
  // cannot be taken back, and what of it exceeds the memory would keep all writers waiting.
  void wish_memory(std::uint64_t bytes) { shares_ = MemoryShares(bytes); }
  // What is agreed on, at least kMinMemory.
  void set_memory(std::uint64_t bytes);
  std::size_t count() const { return streams_.size(); }
  // The peer has all that was written to streams other than stdin and stderr, or wants no more of it. Where it becomes
  // so by what the peer said, that is news: kDelivered or kStopped.
  bool delivered() const;
  // The same of one stream, which may be gone.
  bool delivered(StreamId id) const;
  // Memory in use for the bytes of all streams, both ways.
  std::uint64_t memory_in_use() const { return sending_.in_use() + receiving_.in_use(); }
  // Bytes of all streams, ever: sent for the first time, sent again, and taken by their readers.
  std::uint64_t bytes_sent() const { return session_sent_; }
  std::uint64_t bytes_resent() const { return resent_; }
  std::uint64_t bytes_taken() const { return session_consumed_; }
  // Bytes held for sending, over all streams.
  std::uint64_t buffered() const;

 private:
  Stream* find(StreamId id);
  const Stream* find(StreamId id) const;
  Stream& create(StreamId id, std::uint64_t initial_window);
  // False: it has its end already.
  bool end_writing(StreamId id);
  // The stream a frame of the peer is about, made at its first frame; nullptr: it is over, refused, or not the peer's
  // to make.
  Stream* find_or_create(StreamId id);
  std::size_t perhaps_over() const;
  std::optional<std::string> on_break(const ResetFrame& frame);
  std::optional<std::string> account_refused(const ResetFrame& frame);
  std::uint64_t session_room() const { return session_limit_ - session_sent_; }
  void queue_fresh(StreamId id, Stream& stream);
  void queue_again(StreamId id, Stream& stream);
  bool is_ready(const Turns::Turn& turn);
  void tell_readable(StreamId id, Stream& stream);
  void tell_writable(StreamId id, Stream& stream);
  void after_receive(StreamId id, Stream& stream);
  void renew_credit(StreamId id, Stream& stream);
  void renew_session_credit();
  void account(Stream& stream);
  // What the peer may still send, or has sent and our readers have not taken, in bytes.
  std::uint64_t credit_out() const { return session_window_.limit() - session_consumed_; }
  // For sending, and by streams that take no room from others.
  std::uint64_t held() const { return sending_.in_use() + shares_.beyond(streams_.size()); }
  bool may_write(const Stream& stream, std::size_t skip) const;
  void wake_writers();
  void grow_windows();
  void forget(StreamId id);
  void forget_if_done(StreamId id);
  // What is wrong with a frame for a stream that does not exist; nullopt: it is over, the frame a late
  // duplicate.
  std::optional<std::string> absent(StreamId id) const;
  std::optional<std::string> fault(StreamId id, RecvStream::Verdict verdict) const;

  ControlQueue& control_;
  std::deque<StreamNews>& news_;
  MemoryShares shares_{kUntoldMemory};
  std::uint64_t most_session_window_ = MemoryShares(kMinMemory).session_window(0);
  BlockPool sending_;
  BlockPool receiving_;
  std::map<StreamId, Stream> streams_;
  std::uint64_t committed_ = 0;  // sums over all streams
  std::uint64_t excess_ = 0;
  std::set<StreamId> refused_;  // of the peer's: there was no room, and its RESET has not come
  // Writers that hold nothing and had no room: others have to let go first. One that holds something is looked at when
  // some of that has come, so that many do not look at each other for each packet.
  std::set<StreamId> wait_for_memory_;
  StreamId next_own_;
  StreamId next_peer_;
  Turns turns_;  // of streams with requeued bytes, or new ones within their own credit
  std::uint64_t session_limit_ = kInitialSessionWindow;  // granted to us
  std::uint64_t session_sent_ = 0;                       // of it used: new bytes of all streams
  CreditWindow session_window_{kInitialSessionWindow};   // granted by us
  std::uint64_t resent_ = 0;
  std::uint64_t session_highest_ = 0;  // of it used
  std::uint64_t session_consumed_ = 0;
  std::size_t holes_ = 0;  // in what came, over all streams
  WindowTuner tuner_;
};

}  // namespace mcdtp
