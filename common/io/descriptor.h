#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include "common/core/types.h"

namespace mcdtp {

// What one read or write did.
struct IoResult {
  enum class Status {
    kBytes,       // `bytes` were moved, at least one (zero only where none were offered)
    kWouldBlock,  // nothing moved: wait until it is ready
    kEnd,  // nothing more will ever pass this way; `error` 0 at a plain end of file, else EPIPE or ECONNRESET
    kError,  // `error` says why
  };
  Status status = Status::kWouldBlock;
  std::size_t bytes = 0;
  int error = 0;
};

// Called once. An error means that it did not become ready: operation_aborted after cancel() or the end of
// the object.
using WaitHandler = std::function<void(std::error_code)>;

class StdioFlags;

// One open file on the event loop: a pipe, a terminal, a socket, a regular file or /dev/null. Reads and
// writes never block, but for those on regular files. What epoll does not take (EPERM: regular files,
// /dev/null) is always ready.
//
// Descriptors 0 and 1 are borrowed: the object works on a duplicate, so that both can stand in one epoll set
// even where they are one open file (scp, sftp, a terminal), and 0 and 1 themselves stay open to the end of
// the process, as with ssh. O_NONBLOCK belongs to the open file, which others may share: it is taken off again, where
// it was not found, when the last borrowing object goes. A terminal or a pipe is opened a second time instead, for
// others use it meanwhile.
//
// A pipe that is found full gets room for 256 KiB: who writes and who reads it wake each other a quarter as often. It
// stays as it is where the system has no more for this user (pipe(7)).
//
// Descriptor 2 never comes here: it may share its open file with anything. See write_stderr_all().
//
// Handlers run from io_context::run(), never from within a call. At most one wait each way at a time.
// Single-threaded, as is all that uses it. SIGPIPE is ignored by the process.
class Descriptor {
 public:
  // A pipe holds so much that nobody has changed.
  static constexpr std::size_t kPipeBytes = 64 * 1024;

  // Owns `fd`: closes it, also where this throws. REQUIRES: fd is open and not 2.
  Descriptor(asio::io_context& io, int fd);
  // REQUIRES: fd is 0 or 1. Throws where it is closed.
  static std::unique_ptr<Descriptor> borrow(asio::io_context& io, int fd);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // After cancel() or the end of this object the handler sees operation_aborted, even where readiness was on
  // its way.
  void async_wait_readable(WaitHandler handler);
  void async_wait_writable(WaitHandler handler);
  void cancel();

  // REQUIRES: buffer is not empty.
  [[nodiscard]] IoResult read(MutableBytes buffer);
  // Fills the first 64 at most. REQUIRES: buffers are not empty.
  [[nodiscard]] IoResult read(std::span<const MutableBytes> buffers);
  // May take less than offered.
  [[nodiscard]] IoResult write(std::span<const iovec> buffers);
  [[nodiscard]] IoResult write(Bytes bytes);

  // No more writes; the reader on the other side sees the end. An owned socket stays open for reading; all
  // else is closed. Of 0 and 1 only the duplicate is closed: others may go on writing to the same open file
  // (under systemd a whole script shares one socket to the journal), and the end comes when the process ends.
  void shutdown_write();
  void close();

  // What one read must have room for, in bytes, so that the system discards nothing: 1 where bytes have no bounds, more
  // where messages have: pipe(7) with O_DIRECT, which only who writes can see; sockets of datagrams or of packets.
  std::size_t longest_message() const { return longest_message_; }
  bool is_open() const { return fd_.has_value(); }
  // Is it ready without waiting, ever?
  bool is_always_ready() const { return is_always_ready_; }
  // REQUIRES: is_open().
  int fd() const { return *fd_; }

 private:
  Descriptor(asio::io_context& io, int fd, std::shared_ptr<StdioFlags> flags);
  void attach(int fd);
  void wait(asio::posix::stream_descriptor::wait_type type, WaitHandler handler);
  bool widen_full_pipe();

  std::shared_ptr<StdioFlags> flags_;      // set where it is borrowed
  asio::posix::stream_descriptor waiter_;  // open unless is_always_ready_ or closed; it then owns the fd
  std::optional<int> fd_;                  // none once closed
  bool is_always_ready_ = false;
  std::size_t longest_message_ = 1;
  bool was_full_ = false;             // once, as far as was seen
  std::shared_ptr<char> wait_token_;  // replaced by cancel(): waits begun before know that they are void
};

// Opens /dev/null in place of those of 0, 1 and 2 that are closed, so that no socket of ours ever gets their
// numbers. To be called before anything else is opened.
void open_missing_stdio();

// Writes all of it to a descriptor that others may share, waiting where it must; gives up where nobody reads any more. It
// neither needs nor changes O_NONBLOCK.
void write_shared_all(int fd, std::string_view text);
inline void write_stderr_all(std::string_view text) { write_shared_all(STDERR_FILENO, text); }

// Writes some to such a descriptor, at most 4 KiB, and never waits on a pipe. At kWouldBlock the caller comes back by
// timer.
[[nodiscard]] IoResult try_write_shared(int fd, Bytes bytes);
[[nodiscard]] inline IoResult try_write_stderr(Bytes bytes) { return try_write_shared(STDERR_FILENO, bytes); }

}  // namespace mcdtp
