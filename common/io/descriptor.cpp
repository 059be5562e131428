#include "common/io/descriptor.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/error.hpp>
#include <asio/post.hpp>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/core/check.h"

namespace mcdtp {
namespace {

// A write of this size to a pipe that poll() calls writable does not block (pipe(7)).
constexpr std::size_t kNonBlockingPipeBytes = PIPE_BUF;

constexpr int kWidePipeBytes = 256 * 1024;

std::runtime_error failure(const std::string& attempt, int error) {
  return std::runtime_error(attempt + ": " + std::generic_category().message(error));
}

std::string name_of(int fd) { return fd == STDIN_FILENO ? "standard input" : "standard output"; }

bool is_socket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

// Asks epoll itself, but for sockets: no other file type tells (some character devices can be polled, /dev/null cannot).
bool is_pollable(int fd) {
  if (is_socket(fd)) return true;
  const int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd < 0) throw failure("making an epoll set", errno);
  epoll_event event{};
  const bool refused = epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0;
  const int reason = errno;
  ::close(epoll_fd);
  if (refused && reason != EPERM) throw failure("watching a descriptor", reason);
  return !refused;
}

void set_nonblocking(int fd, bool on) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || ((flags & O_NONBLOCK) != 0) == on) return;
  fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

IoResult result_of(ssize_t n) {
  if (n >= 0) return {IoResult::Status::kBytes, static_cast<std::size_t>(n), 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoResult::Status::kWouldBlock, 0, 0};
  if (errno == EPIPE || errno == ECONNRESET) return {IoResult::Status::kEnd, 0, errno};
  return {IoResult::Status::kError, 0, errno};
}

bool is_master(int fd) {
  unsigned number = 0;
  return ioctl(fd, TIOCGPTN, &number) == 0;
}

bool is_pipe(int fd) {
  struct stat file {};
  return fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode);
}

// A pipe cuts longer ones itself. Of a socket ssh takes less.
std::size_t longest_message_of(int fd) {
  constexpr std::size_t kLongestOfSocket = 64 * 1024;
  if (is_pipe(fd)) return PIPE_BUF;
  int type = SOCK_STREAM;
  socklen_t size = sizeof type;
  getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);  // leaves it where it is no socket
  return type == SOCK_STREAM ? 1 : kLongestOfSocket;
}

// Nobody writes to the pipe any more; never so of its writing end. On an open file that was made after its last writer had
// gone the kernel never says so of a named one.
bool is_without_writer(int fd) {
  pollfd asked{fd, POLLIN, 0};
  return poll(&asked, 1, 0) > 0 && (asked.revents & POLLHUP) != 0;
}

// A terminal or a pipe under an open file of its own, so that O_NONBLOCK on it is nobody else's: the shell, a pager that
// shows our output, and others that share the pipe go on writing to theirs. Nothing where it is neither, or may not be
// opened again: who opens a master, as pppd gives to its `pty` program, gets another terminal, and of a pipe without a writer
// the end would not be seen.
std::optional<int> reopen(int fd) {
  const bool is_terminal = isatty(fd) && !is_master(fd);
  if (!is_terminal && !is_pipe(fd)) return std::nullopt;
  const int kept = fcntl(fd, F_GETFL) & (O_ACCMODE | (is_terminal ? 0 : O_DIRECT));
  const int own =
      ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), kept | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (own < 0) return std::nullopt;
  if (is_terminal || !is_without_writer(fd)) return own;
  ::close(own);
  return std::nullopt;
}

template <class Call>
ssize_t uninterrupted(Call call) {
  ssize_t n = call();
  while (n < 0 && errno == EINTR) n = call();
  return n;
}

}  // namespace

// Takes O_NONBLOCK off 0 and 1 where it was not found. Where it was, another program has set it, or one like us, which may
// have taken it off by then. Both are saved before either is changed, and put back after neither
// is used: they may be one open file, and then the second would save what we set for the first.
class StdioFlags {
 public:
  // The one in force, or a new one.
  static std::shared_ptr<StdioFlags> acquire() {
    auto flags = current().lock();
    if (!flags) current() = flags = std::make_shared<StdioFlags>();
    return flags;
  }
  static std::weak_ptr<StdioFlags>& current() {
    static std::weak_ptr<StdioFlags> instance;
    return instance;
  }

  StdioFlags() {
    for (int fd : {STDIN_FILENO, STDOUT_FILENO}) found_[static_cast<std::size_t>(fd)] = fcntl(fd, F_GETFL);
  }
  ~StdioFlags() { restore(); }
  StdioFlags(const StdioFlags&) = delete;
  StdioFlags& operator=(const StdioFlags&) = delete;

  void restore() const {
    for (int fd : {STDIN_FILENO, STDOUT_FILENO}) {
      const int flags = found_[static_cast<std::size_t>(fd)];
      if (flags >= 0 && (flags & O_NONBLOCK) == 0) set_nonblocking(fd, false);
    }
  }

 private:
  std::array<int, 2> found_{};  // as fcntl said; negative where the descriptor was closed
};

Descriptor::Descriptor(asio::io_context& io, int fd) : Descriptor(io, fd, nullptr) {}

std::unique_ptr<Descriptor> Descriptor::borrow(asio::io_context& io, int fd) {
  CHECK(fd == STDIN_FILENO || fd == STDOUT_FILENO);
  if (const auto own = reopen(fd)) return std::make_unique<Descriptor>(io, *own);
  auto flags = StdioFlags::acquire();
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (copy < 0) throw failure("using " + name_of(fd), errno);
  return std::unique_ptr<Descriptor>(new Descriptor(io, copy, std::move(flags)));
}

Descriptor::Descriptor(asio::io_context& io, int fd, std::shared_ptr<StdioFlags> flags)
    : flags_(std::move(flags)), waiter_(io), wait_token_(std::make_shared<char>()) {
  CHECK(fd != STDERR_FILENO);
  try {
    attach(fd);
  } catch (...) {
    if (!waiter_.is_open()) ::close(fd);
    throw;
  }
}

void Descriptor::attach(int fd) {
  is_always_ready_ = !is_pollable(fd);
  if (!is_always_ready_) {
    waiter_.assign(fd);
    set_nonblocking(fd, true);
  }
  longest_message_ = longest_message_of(fd);
  fd_ = fd;
}

// The order matters: out of the epoll set first, the flags last.
Descriptor::~Descriptor() { close(); }

void Descriptor::async_wait_readable(WaitHandler handler) {
  wait(asio::posix::stream_descriptor::wait_read, std::move(handler));
}

void Descriptor::async_wait_writable(WaitHandler handler) {
  wait(asio::posix::stream_descriptor::wait_write, std::move(handler));
}

void Descriptor::wait(asio::posix::stream_descriptor::wait_type type, WaitHandler handler) {
  auto guarded = [token = std::weak_ptr<char>(wait_token_),
                  handler = std::move(handler)](std::error_code error) {
    handler(token.expired() ? std::error_code(asio::error::operation_aborted) : error);
  };
  if (is_open() && is_always_ready_) {
    asio::post(waiter_.get_executor(), [guarded = std::move(guarded)] { guarded({}); });
  } else {
    waiter_.async_wait(type, std::move(guarded));  // one that is closed answers bad_descriptor
  }
}

void Descriptor::cancel() {
  wait_token_ = std::make_shared<char>();
  std::error_code ignored;
  waiter_.cancel(ignored);
}

IoResult Descriptor::read(MutableBytes buffer) { return read(std::span<const MutableBytes>(&buffer, 1)); }

IoResult Descriptor::read(std::span<const MutableBytes> buffers) {
  constexpr std::size_t kAtOnce = 64;
  std::array<iovec, kAtOnce> places;
  const std::size_t count = std::min(buffers.size(), kAtOnce);
  CHECK(count > 0 && !buffers[0].empty());
  for (std::size_t i = 0; i < count; ++i) places[i] = {buffers[i].data(), buffers[i].size()};
  if (!is_open()) return {IoResult::Status::kError, 0, EBADF};
  IoResult result =
      result_of(uninterrupted([&] { return ::readv(*fd_, places.data(), static_cast<int>(count)); }));
  if (result.status == IoResult::Status::kBytes && result.bytes == 0) result.status = IoResult::Status::kEnd;
  if (result.bytes >= kPipeBytes) widen_full_pipe();
  return result;
}

IoResult Descriptor::write(std::span<const iovec> buffers) {
  if (!is_open()) return {IoResult::Status::kError, 0, EBADF};
  const int count = static_cast<int>(std::min<std::size_t>(buffers.size(), IOV_MAX));
  const auto write_once = [&] {
    return result_of(uninterrupted([&] { return ::writev(*fd_, buffers.data(), count); }));
  };
  const IoResult result = write_once();
  return result.status == IoResult::Status::kWouldBlock && widen_full_pipe() ? write_once() : result;
}

// Tells whether there is more room now.
bool Descriptor::widen_full_pipe() {
  if (std::exchange(was_full_, true)) return false;
  const int room = fcntl(*fd_, F_GETPIPE_SZ);  // negative where it is no pipe
  return room >= 0 && room < kWidePipeBytes && fcntl(*fd_, F_SETPIPE_SZ, kWidePipeBytes) >= 0;
}

IoResult Descriptor::write(Bytes bytes) {
  const iovec one{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  return write({&one, 1});
}

void Descriptor::shutdown_write() {
  if (!is_open()) return;
  if (!flags_ && is_socket(*fd_)) {
    ::shutdown(*fd_, SHUT_WR);
  } else {
    close();
  }
}

void Descriptor::close() {
  if (!is_open()) return;
  cancel();
  if (is_always_ready_) {
    ::close(*fd_);
  } else {
    std::error_code ignored;
    waiter_.close(ignored);
  }
  fd_.reset();
}

void open_missing_stdio() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is taken: those below are open by now.
    if (::open("/dev/null", O_RDWR) != fd) throw failure("opening /dev/null", errno);
  }
}

void write_shared_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = uninterrupted([&] { return ::write(fd, text.data(), text.size()); });
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd wanted{fd, POLLOUT, 0};
      ::poll(&wanted, 1, -1);
    } else {
      return;
    }
  }
}

IoResult try_write_shared(int fd, Bytes bytes) {
  pollfd wanted{fd, POLLOUT, 0};
  if (::poll(&wanted, 1, 0) <= 0) return {IoResult::Status::kWouldBlock, 0, 0};
  const std::size_t size = std::min(bytes.size(), kNonBlockingPipeBytes);
  return result_of(uninterrupted([&] { return ::write(fd, bytes.data(), size); }));
}

}  // namespace mcdtp
