#include "common/io/connection.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/io/system.h"

namespace mcdtp {
namespace {

constexpr auto kPatience = seconds(2);
constexpr int kMostPauses = 300;  // of that time
constexpr int kMostWritingPauses = 2;
// Between looks whether the program takes something: the longer the less it does.
constexpr Duration kFirstLook = milliseconds(10);
constexpr Duration kLastLook = seconds(1);
constexpr int kLooks = 16;  // in as much time as has passed
// Without progress.
constexpr Duration kMostWaiting = seconds(10);
constexpr Duration kMostWaitingBeforeReset = kMostPauses * kPatience;

// Ends no direction by itself where not all was written: that is the connection's to decide.
class SocketSink : public DescriptorSink {
 public:
  SocketSink(std::shared_ptr<Descriptor> to, ReadPump& reader, std::uint64_t& written)
      : DescriptorSink(std::move(to)), reader_(reader), written_(written) {}
  // Who writes first learns of the reset, and who reads then sees a plain end. EPIPE is no reset: the program has ended
  // what it sends, or reads no more.
  IoResult write(std::span<const iovec> buffers) override {
    const IoResult result = DescriptorSink::write(buffers);
    if (result.error != 0 && result.error != EPIPE) reader_.expect_break();
    if (result.status == IoResult::Status::kBytes) written_ += result.bytes;
    return result;
  }
  void abandon() override {}

 private:
  ReadPump& reader_;
  std::uint64_t& written_;
};

// Bytes, and an end, that the system at the other end has not acknowledged. What it has, its program can still read after
// a reset; what not is then lost.
int untaken(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_state == TCP_CLOSE) return 0;
  int bytes = 0;
  return ioctl(fd, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

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
          driver, stream, socket, [this] { on_read(); }, ReadPump::From::kSocket),
      writer_(driver, stream, std::make_unique<SocketSink>(socket, reader_, written_),
              [this](WritePump::End how) { on_written(how); }) {}

Connection::~Connection() {
  if (ended_) return;
  if (owes()) reset_on_close(socket_->fd());
  socket_->close();
}

// A plain end of the socket would hide that bytes are missing, or a reset.
bool Connection::owes() const {
  const Streams& streams = driver_.streams();
  return streams.was_broken_off(stream_) || (!written_all_ && streams.all_received(stream_));
}

void Connection::start_writing() {
  writes_ = true;
  writer_.on_readable();
}

void Connection::on_news(StreamNews::Kind kind) {
  if (ended_ || look_) return;
  switch (kind) {
    case StreamNews::Kind::kReadable:
      if (writes_) writer_.on_readable();
      break;
    case StreamNews::Kind::kWritable: reader_.on_writable(); break;
    case StreamNews::Kind::kStopped:
      stopped_ = true;
      reader_.discard();
      end_if_done();
      break;
    case StreamNews::Kind::kOpened:
    case StreamNews::Kind::kReached:
    case StreamNews::Kind::kDelivered: break;
  }
  if (!ended_ && !patience_ && stopped_ && driver_.streams().was_broken_off(stream_)) watch_taking();
}

void Connection::abort() {
  if (ended_) return;
  driver_.streams().reset(stream_);
  end(true);
}

void Connection::close_unread() {
  if (!ended_) end(reader_.has_read());
}

void Connection::close() {
  if (!ended_) end(false);
}

bool Connection::drain() {
  if (ended_) return false;
  if (look_) return true;
  if (writer_.ended() || !driver_.streams().all_received(stream_)) {
    end(driver_.streams().was_broken_off(stream_));
    return false;
  }
  drained_ = true;
  reader_.discard();
  return true;
}

// What is broken takes nothing more either.
void Connection::on_read() {
  read_all_ = true;
  if (reader_.is_broken() && !writer_.ended()) return writer_.stop();
  end_if_done();
}

void Connection::on_written(WritePump::End how) {
  written_all_ = true;
  written_whole_ = how.whole;
  Streams& streams = driver_.streams();
  if (!how.whole && streams.was_reset(stream_)) {
    streams.reset(stream_);
    return end(true);
  }
  if (!how.whole && streams.was_broken_off(stream_)) return end_when_taken(true);
  end_if_done();
}

void Connection::end_if_done() {
  if (ended_ || look_ || !written_all_) return;
  if (stopped_ || drained_) return end_when_taken(stopped_);
  if (read_all_) end(false);
}

// Who takes nothing of what came before a reset, but goes on writing to who is gone, is not sent the rest. Who only pauses
// reads on some time, and ssh would wait for ever. Bytes that are still on their way here, and what is only to be looked
// for, are awaited.
void Connection::watch_taking() {
  patience_ = std::make_unique<asio::steady_timer>(driver_.io(), kPatience);
  const auto before = std::pair(written_, taken());
  const std::uint64_t thrown_away = reader_.thrown_away();
  patience_->async_wait([this, before, thrown_away, alive = std::weak_ptr(alive_)](std::error_code error) {
    if (error || alive.expired() || ended_ || look_) return;
    const bool has_more = untaken(socket_->fd()) > 0 || !driver_.streams().readable(stream_).empty();
    const bool pauses = has_more && before == std::pair(written_, taken());
    pauses_ = pauses ? pauses_ + 1 : 0;
    writing_pauses_ = pauses && reader_.thrown_away() > thrown_away ? writing_pauses_ + 1 : 0;
    if (pauses_ >= kMostPauses || writing_pauses_ >= kMostWritingPauses) return end(true);
    watch_taking();
  });
}

// Bytes that the program's system has.
std::uint64_t Connection::taken() const {
  if (ended_) return written_;
  return written_ - static_cast<std::uint64_t>(untaken(socket_->fd()));
}

void Connection::end_when_taken(bool with_reset) {
  look_ = std::make_unique<asio::steady_timer>(driver_.io());
  look_whether_taken(with_reset);
}

// Nothing tells: it has to be looked for.
void Connection::look_whether_taken(bool with_reset) {
  const int left = untaken(socket_->fd());
  if (left == 0) return end(with_reset);
  if (std::exchange(untaken_, left) != left) progress_at_ = now();
  const Duration waiting = now() - progress_at_;
  // The system goes on sending what is followed by an end; a reset would discard it, of who only pauses too.
  const bool discards = with_reset && !written_whole_;
  if (waiting > (discards ? kMostWaitingBeforeReset : kMostWaiting)) return end(discards);
  look_->expires_after(std::clamp<Duration>(waiting / kLooks, kFirstLook, kLastLook));
  look_->async_wait([this, with_reset, alive = std::weak_ptr(alive_)](std::error_code error) {
    if (!error && !alive.expired() && !ended_) look_whether_taken(with_reset);
  });
}

// release() gives up what was not finished, both ways.
void Connection::end(bool with_reset) {
  ended_ = true;
  if (with_reset) reset_on_close(socket_->fd());
  socket_->close();
  driver_.streams().release(stream_);
  driver_.kick();
  on_end_();
}

}  // namespace mcdtp
