#include "client/channel_bridge.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "common/core/bytes.h"
#include "common/io/descriptor.h"
#include "common/io/system.h"

namespace mcdtp {
namespace {

constexpr std::size_t kBufferSize = 32000;  // one SSH packet

void make_non_blocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

bool would_block() { return errno == EAGAIN || errno == EINTR; }

// A descriptor that is not wanted stays out: poll() would report its hang-up again and again.
pollfd wanted(int fd, bool condition, short events) { return {condition ? fd : -1, events, 0}; }

}  // namespace

ChannelBridge::ChannelBridge(SshChannel& channel) : channel_(channel) {
  make_non_blocking(STDIN_FILENO);
  make_non_blocking(STDOUT_FILENO);
}

void ChannelBridge::run() {
  for (;;) {
    while (!is_closed_ && step()) {
    }
    if (is_closed_) return;
    wait();
  }
}

// Returns whether anything moved.
bool ChannelBridge::step() {
  bool moved = channel_.flush();
  moved |= read_stdin();
  moved |= write_channel();
  moved |= say_eof();
  moved |= read_channel();
  moved |= write_stdout();
  moved |= write_stderr();
  moved |= note_end();
  return moved;
}

bool ChannelBridge::read_stdin() {
  if (in_ended_ || !in_.empty()) return false;
  in_.resize(kBufferSize);
  const ssize_t got = ::read(STDIN_FILENO, in_.data(), in_.size());
  const bool waits = got < 0 && would_block();
  in_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  in_ended_ = got <= 0 && !waits;
  return !waits;
}

bool ChannelBridge::write_channel() {
  if (in_.empty() || !channel_.has_room()) return false;
  const auto taken = channel_.write(in_);
  must_repeat_ = !taken;
  if (taken) in_.erase(0, *taken);
  return taken.has_value();
}

bool ChannelBridge::say_eof() {
  if (!in_ended_ || !in_.empty() || eof_said_) return false;
  eof_said_ = channel_.send_eof();
  must_repeat_ = !eof_said_;
  return eof_said_;
}

// What came and cannot be written stays in the channel's window, which then holds the far side back.
bool ChannelBridge::read_channel() {
  if (!out_.empty() || !err_.empty()) return false;
  const bool some_out = fill(out_, false);
  const bool some_err = fill(err_, true);
  if (some_out || some_err) {
    unread_ = 0;
    return true;
  }
  // Of bytes that came while the other stream was looked at no socket tells any more. What nobody reads is no news twice.
  const std::size_t unread = channel_.unread();
  return std::exchange(unread_, unread) != unread;
}

bool ChannelBridge::fill(std::string& buffer, bool from_stderr) {
  buffer.resize(kBufferSize);
  const auto got = channel_.read(from_stderr, buffer);
  buffer.resize(got.value_or(0));
  return got.has_value();
}

bool ChannelBridge::write_stdout() {
  if (out_.empty()) return false;
  const ssize_t written = out_is_open_ ? ::write(STDOUT_FILENO, out_.data(), out_.size()) : -1;
  if (written < 0 && out_is_open_ && would_block()) return false;
  if (written < 0) {
    drop_stdout();
  } else {
    out_.erase(0, static_cast<std::size_t>(written));
  }
  return true;
}

void ChannelBridge::drop_stdout() {
  out_.clear();
  out_is_open_ = false;
  if (!reader_gone_at_) reader_gone_at_ = now();
  is_closed_ = now() - *reader_gone_at_ > kLastWords;
}

bool ChannelBridge::write_stderr() {
  if (err_.empty()) return false;
  const IoResult result = try_write_stderr(as_bytes(err_));
  if (result.status == IoResult::Status::kWouldBlock) return false;
  err_.erase(0, result.status == IoResult::Status::kBytes ? result.bytes : err_.size());
  return true;
}

// The far side's end of file closes our 1, which our reader may wait for while it still writes.
bool ChannelBridge::note_end() {
  if (is_closed_ || !out_.empty() || !err_.empty() || !channel_.at_eof()) return false;
  if (out_is_open_) ::close(STDOUT_FILENO);
  out_is_open_ = false;
  is_closed_ = channel_.is_closed();
  return is_closed_;
}

bool ChannelBridge::wants_input() const { return must_repeat_ || (out_.empty() && err_.empty()); }

void ChannelBridge::wait() const {
  const short socket_events =
      static_cast<short>((wants_input() ? POLLIN : 0) | (channel_.has_unsent() ? POLLOUT : 0));
  std::array<pollfd, 4> all = {wanted(channel_.socket_fd(), socket_events != 0, socket_events),
                               wanted(STDIN_FILENO, in_.empty() && !in_ended_, POLLIN),
                               wanted(STDOUT_FILENO, !out_.empty(), POLLOUT),
                               wanted(STDERR_FILENO, !err_.empty(), POLLOUT)};
  ::poll(all.data(), all.size(), -1);
}

}  // namespace mcdtp
