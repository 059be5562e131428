#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/io/pump.h"

namespace mcdtp {

// One stream and one socket, each other's far end: bytes and half-closes go both ways. A socket that is reset breaks its
// stream off after what was read from it. Where the stream is reset or broken off the socket is reset too, the latter
// once all is written: the program at its other end must not take it for an end. A program that reads no more may still
// say its last: what it writes goes on.
class Connection {
 public:
  // `on_end` is called once; the stream is released and the socket closed by then. It may not end this object.
  Connection(Driver& driver, StreamId stream, std::shared_ptr<Descriptor> socket,
             std::function<void()> on_end);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start_reading() { reader_.start(); }
  // What came from the peer by now goes to the socket, and all that follows.
  void start_writing();
  // REQUIRES: news of this stream.
  void on_news(StreamNews::Kind kind);
  // The socket is reset, the stream given up.
  void abort();
  // The socket ends, the stream is given up. To the program nobody has read what it sent: it is reset for that.
  void close_unread();
  // The socket ends as if all had been read, the stream is given up.
  void close();
  // The peer is gone. What it has said to its end still goes to the socket; false: there is nothing like that, and the
  // socket ends.
  bool drain();
  // Changes whenever the program takes something.
  std::uint64_t taken() const;

 private:
  void on_read();
  void on_written(WritePump::End how);
  void end_if_done();
  void watch_taking();
  bool owes() const;
  void end_when_taken(bool with_reset);
  void look_whether_taken(bool with_reset);
  void end(bool with_reset);

  Driver& driver_;
  StreamId stream_;
  std::shared_ptr<Descriptor> socket_;
  std::function<void()> on_end_;
  std::uint64_t written_ = 0;  // bytes to the socket
  ReadPump reader_;
  WritePump writer_;
  bool writes_ = false;  // bytes of the stream may go to the socket
  bool read_all_ = false;
  bool written_all_ = false;  // or as much as the socket takes
  bool written_whole_ = false;
  bool stopped_ = false;  // the peer takes no more of what we read
  bool drained_ = false;  // ... nor says anything more
  // Set: the peer's connection is reset, and what is left goes to ours only as long as it takes something now and then.
  std::unique_ptr<asio::steady_timer> patience_;
  int pauses_ = 0;          // in a row, of that time, in which it took nothing
  int writing_pauses_ = 0;  // ... and wrote something
  // Set: it is awaited that the program's system has all that was written.
  std::unique_ptr<asio::steady_timer> look_;
  int untaken_ = 0;     // bytes that it did not have at the last look
  Time progress_at_{};  // when there were fewer
  bool ended_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace mcdtp
