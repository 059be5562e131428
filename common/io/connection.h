#pragma once

#include <functional>
#include <memory>

#include "common/io/pump.h"

namespace mcdtp {

// One stream and one socket, each other's far end: bytes and half-closes go both ways, and a reset of the socket is a
// RESET of the stream. Where the stream is reset, or nobody takes its bytes any more, the socket is reset too: the
// program at its other end must not take it for an end.
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
  // The socket ends, the stream is given up.
  void close();

 private:
  void on_written(WritePump::End how);
  void end_if_done();
  void end(bool with_reset);

  Driver& driver_;
  StreamId stream_;
  std::shared_ptr<Descriptor> socket_;
  std::function<void()> on_end_;
  ReadPump reader_;
  WritePump writer_;
  bool writes_ = false;  // bytes of the stream may go to the socket
  bool read_all_ = false;
  bool written_all_ = false;
  bool stopped_ = false;  // the peer took no more of what we read
  bool ended_ = false;
};

}  // namespace mcdtp
