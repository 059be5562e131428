#include "common/io/connection.h"

#include <sys/socket.h>

namespace mcdtp {
namespace {

// Ends no direction by itself where not all was written: that is the connection's to decide.
class SocketSink : public DescriptorSink {
 public:
  using DescriptorSink::DescriptorSink;
  void abandon() override {}
};

// The next close resets the connection.
void reset_on_close(int fd) {
  const linger at_once{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace

Connection::Connection(Driver& driver, StreamId stream, std::shared_ptr<Descriptor> socket,
                       std::function<void()> on_end)
    : driver_(driver),
      stream_(stream),
      socket_(socket),
      on_end_(std::move(on_end)),
      reader_(
          driver, stream, socket,
          [this] {
            read_all_ = true;
            end_if_done();
          },
          ReadPump::From::kSocket),
      writer_(driver, stream, std::make_unique<SocketSink>(socket),
              [this](WritePump::End how) { on_written(how); }) {}

Connection::~Connection() {
  if (!ended_) socket_->close();
}

void Connection::start_writing() {
  writes_ = true;
  writer_.on_readable();
}

void Connection::on_news(StreamNews::Kind kind) {
  if (ended_) return;
  switch (kind) {
    case StreamNews::Kind::kReadable:
      if (writes_) writer_.on_readable();
      break;
    case StreamNews::Kind::kWritable: reader_.on_writable(); break;
    case StreamNews::Kind::kStopped:
      stopped_ = true;
      reader_.on_stopped();
      break;
    case StreamNews::Kind::kOpened:
    case StreamNews::Kind::kReached: break;
  }
}

void Connection::abort() {
  if (!ended_) end(true);
}

void Connection::close() {
  if (!ended_) end(false);
}

void Connection::on_written(WritePump::End how) {
  if (!how.whole) return end(true);
  written_all_ = true;
  end_if_done();
}

// A socket whose reading failed was reset by its far end: so is the stream, and nothing more can be written.
void Connection::end_if_done() {
  if (ended_) return;
  if (read_all_ && driver_.streams().gave_up(stream_) && !stopped_) return end(true);
  if (read_all_ && written_all_) end(stopped_);
}

// release() gives up what was not finished, both ways.
void Connection::end(bool with_reset) {
  ended_ = true;
  if (with_reset) {
    driver_.streams().reset(stream_);
    reset_on_close(socket_->fd());
  }
  socket_->close();
  driver_.streams().release(stream_);
  driver_.kick();
  on_end_();
}

}  // namespace mcdtp
