#pragma once

#include <array>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "common/io/driver.h"

namespace mcdtp {

// Bytes from a descriptor into a stream: reads only while the stream has room, so a slow far side stops the
// writer on this one. The descriptor's end is the stream's FIN.
class ReadPump {
 public:
  // What it reads from: a pipe is the pump's own, closed at its end, and an error ends it as its end does. A socket is
  // written to as well: its owner closes it, and after an error the stream is broken off.
  enum class From { kPipe, kSocket };
  // `on_end` is called once: at the end of the descriptor, after a read error, or when the peer wants no more.
  ReadPump(Driver& driver, StreamId stream, std::shared_ptr<Descriptor> from, std::function<void()> on_end,
           From kind = From::kPipe);
  ~ReadPump() { close(); }

  void start() { wait(); }
  // The stream has room again.
  void on_writable();
  // What was read goes out, and is all of it.
  void finish();
  // The peer wants no more: nothing is read from now on, and the descriptor is closed.
  void on_stopped();
  // What is read from now on goes nowhere: whoever writes it is not held up.
  void discard();
  // The socket is broken: what can still be read comes from before that, and its end is none.
  void expect_break() { broken_ = true; }
  // Whoever writes it has written something.
  bool has_read() const { return has_read_; }
  // Bytes that were read for nobody.
  std::uint64_t thrown_away() const { return thrown_away_; }
  // The descriptor could not be read to its end.
  bool is_broken() const { return broken_; }

 private:
  static constexpr std::size_t kBytesPerTurn = 256 * 1024;
  static constexpr std::size_t kMostRooms = kBytesPerTurn / BlockPool::kBlockSize;

  void wait();
  void wait_for_room();
  void read();
  IoResult read_message(std::span<const MutableBytes> rooms, std::size_t asked);
  bool place_carried();
  void read_away();
  void end_stream(int error);
  void end();
  void close();

  Driver& driver_;
  StreamId stream_;
  std::shared_ptr<Descriptor> from_;
  std::function<void()> on_end_;
  From kind_;
  std::size_t rooms_ = 1;              // pieces of room for the next read: twice what the last one filled
  std::vector<std::uint8_t> carried_;  // of a message for which there was not room enough
  bool waits_for_room_ = false;
  bool finishes_ = false;  // once nothing is carried
  bool has_read_ = false;
  std::uint64_t thrown_away_ = 0;
  bool discards_ = false;
  bool broken_ = false;
  bool ended_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();  // handlers ask whether this object is still there
};

// Where a stream's bytes go.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual IoResult write(std::span<const iovec> buffers) = 0;
  virtual void async_wait_writable(WaitHandler handler) = 0;
  // All is written.
  virtual void finish() = 0;
  // Not all will be.
  virtual void abandon() { finish(); }
};

class DescriptorSink : public Sink {
 public:
  explicit DescriptorSink(std::shared_ptr<Descriptor> to) : to_(std::move(to)) {}
  ~DescriptorSink() override { to_->cancel(); }
  IoResult write(std::span<const iovec> buffers) override { return to_->write(buffers); }
  void async_wait_writable(WaitHandler handler) override { to_->async_wait_writable(std::move(handler)); }
  void finish() override { to_->shutdown_write(); }

 private:
  std::shared_ptr<Descriptor> to_;
};

// Descriptor 2, which the event loop must not touch: a timer asks again while it is full. Once it takes no more (its
// reader has left, the disk is full), all that comes is dropped, so that whoever writes it is not told, as with ssh.
class StderrSink : public Sink {
 public:
  explicit StderrSink(asio::io_context& io) : timer_(io) {}
  IoResult write(std::span<const iovec> buffers) override;
  void async_wait_writable(WaitHandler handler) override;
  void finish() override {}

 private:
  asio::steady_timer timer_;
  bool is_lost_ = false;
};

// Bytes of a stream, in order, into a sink. A sink that takes no more stops the stream (STOP).
class WritePump {
 public:
  // Why it ended: the stream was written to its end, or `error` (errno) kept it from that; 0 with a sink that
  // was closed by its reader, or a stream that the peer gave up or broke off.
  struct End {
    bool whole = false;
    int error = 0;
  };
  WritePump(Driver& driver, StreamId stream, std::unique_ptr<Sink> to, std::function<void(End)> on_end);

  // The stream has bytes, or its end.
  void on_readable();
  bool ended() const { return ended_; }
  // Nobody wants the bytes any more.
  void stop();

 private:
  static constexpr std::size_t kBuffers = 64;
  static constexpr int kWritesPerTurn = 8;

  std::size_t gather(std::array<iovec, kBuffers>& buffers);
  // False: wait until writable.
  bool write_some(std::span<const iovec> buffers);
  void wait();
  void end(End how);

  Driver& driver_;
  StreamId stream_;
  std::unique_ptr<Sink> to_;
  std::function<void(End)> on_end_;
  bool waiting_ = false;
  bool ended_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace mcdtp
