#include "client/plain.h"

#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "common/io/descriptor.h"

namespace mcdtp {
namespace {

// Copies one descriptor to another until either ends; never holds more than one buffer.
class Copier {
 public:
  Copier(std::shared_ptr<Descriptor> from, std::shared_ptr<Descriptor> to, Bytes first, std::function<void()> on_end)
      : from_(std::move(from)), to_(std::move(to)), buffer_(first.begin(), first.end()), on_end_(std::move(on_end)) {
    end_ = buffer_.size();
    buffer_.resize(std::max<std::size_t>(end_, kBufferSize));
  }
  void start() { begin_ < end_ ? write() : read(); }

 private:
  static constexpr std::size_t kBufferSize = 64 * 1024;

  void read() {
    from_->async_wait_readable([this](std::error_code error) {
      if (error) return;
      const IoResult result = from_->read(buffer_);
      if (result.status == IoResult::Status::kWouldBlock) return read();
      if (result.status != IoResult::Status::kBytes) return end();
      begin_ = 0;
      end_ = result.bytes;
      write();
    });
  }

  void write() {
    while (begin_ < end_) {
      const IoResult result = to_->write(Bytes(buffer_).subspan(begin_, end_ - begin_));
      if (result.status == IoResult::Status::kWouldBlock) {
        return to_->async_wait_writable([this](std::error_code error) {
          if (!error) write();
        });
      }
      if (result.status != IoResult::Status::kBytes) return end();
      begin_ += result.bytes;
    }
    read();
  }

  // Both ends are closed: the writer at the other side of `from` sees that nobody reads any more.
  void end() {
    from_->close();
    to_->shutdown_write();
    on_end_();
  }

  std::shared_ptr<Descriptor> from_;
  std::shared_ptr<Descriptor> to_;
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::function<void()> on_end_;
};

std::shared_ptr<Descriptor> duplicate(asio::io_context& io, int fd) {
  return std::make_shared<Descriptor>(io, fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace

int run_plain_session(Login& login, bool read_stdin) {
  asio::io_context io;
  const auto to_ssh = duplicate(io, login.ssh->stdin_fd());
  const auto from_ssh = duplicate(io, login.ssh->stdout_fd());
  login.ssh->close_pipes();
  std::vector<std::uint8_t> first(login.finder.noise().begin(), login.finder.noise().end());
  const Bytes rest = login.finder.rest();
  first.insert(first.end(), rest.begin(), rest.end());
  Copier up(Descriptor::borrow(io, STDIN_FILENO), to_ssh, {}, [] {});
  Copier down(from_ssh, Descriptor::borrow(io, STDOUT_FILENO), first, [&io] { io.stop(); });
  if (read_stdin) {
    up.start();
  } else {
    to_ssh->shutdown_write();
  }
  down.start();
  io.run();
  to_ssh->close();
  return login.ssh->wait();
}

}  // namespace mcdtp
