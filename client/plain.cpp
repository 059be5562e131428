#include "client/plain.h"

#include <unistd.h>

#include <algorithm>
#include <asio/signal_set.hpp>
#include <csignal>
#include <cstring>
#include <functional>
#include <vector>

#include "client/say.h"
#include "common/io/descriptor.h"

namespace mcdtp {
namespace {

constexpr int kFailed = 255;

// Copies one descriptor to another until either ends; never holds more than one buffer.
class Copier {
 public:
  Copier(std::shared_ptr<Descriptor> from, std::shared_ptr<Descriptor> to, Bytes first,
         std::function<void()> on_end)
      : from_(std::move(from)),
        to_(std::move(to)),
        buffer_(first.begin(), first.end()),
        on_end_(std::move(on_end)) {
    end_ = buffer_.size();
    buffer_.resize(std::max<std::size_t>(end_, kBufferSize));
  }
  void start() { begin_ < end_ ? write() : read(); }
  bool ended() const { return ended_; }
  // Why `to` took no more, an errno; 0 also where its reader closed it.
  int write_error() const { return write_error_; }

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
      if (result.status == IoResult::Status::kError) write_error_ = result.error;
      if (result.status != IoResult::Status::kBytes) return end();
      begin_ += result.bytes;
    }
    read();
  }

  // Both ends are closed: the writer at the other side of `from` sees that nobody reads any more.
  void end() {
    ended_ = true;
    from_->close();
    to_->shutdown_write();
    on_end_();
  }

  std::shared_ptr<Descriptor> from_;
  std::shared_ptr<Descriptor> to_;
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool ended_ = false;
  int write_error_ = 0;
  std::function<void()> on_end_;
};

// Over once ssh has ended and all that it wrote is out. Neither alone says so: a command may close its
// stdout, or our reader ours, and stdin still goes on.
class PlainSession {
 public:
  PlainSession(Login& login, const std::vector<int>& end_signals);
  int run(bool read_stdin);

 private:
  void await_ssh_end();
  void end_if_done();

  ChildProcess& ssh_;
  asio::io_context io_;
  // Whatever ends us, the flags of 0 and 1 are put back.
  asio::signal_set end_signals_{io_};
  asio::signal_set children_{io_, SIGCHLD};
  std::shared_ptr<Descriptor> to_ssh_;
  Copier up_;
  Copier down_;
  bool interrupted_ = false;
};

PlainSession::PlainSession(Login& login, const std::vector<int>& end_signals)
    : ssh_(*login.ssh),
      to_ssh_(std::make_shared<Descriptor>(io_, ssh_.take_stdin())),
      up_(Descriptor::borrow(io_, STDIN_FILENO), to_ssh_, {}, [] {}),
      down_(std::make_shared<Descriptor>(io_, ssh_.take_stdout()), Descriptor::borrow(io_, STDOUT_FILENO),
            login.finder.rest(), [this] { end_if_done(); }) {
  for (const int number : end_signals) end_signals_.add(number);
  // A caller may have blocked it.
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  pthread_sigmask(SIG_UNBLOCK, &child, nullptr);
}

void PlainSession::await_ssh_end() {
  children_.async_wait([this](std::error_code error, int) {
    if (error) return;
    end_if_done();
    await_ssh_end();
  });
}

void PlainSession::end_if_done() {
  if (down_.ended() && ssh_.has_ended()) io_.stop();
}

int PlainSession::run(bool read_stdin) {
  end_signals_.async_wait([this](std::error_code error, int) {
    if (error) return;
    interrupted_ = true;
    io_.stop();
  });
  await_ssh_end();
  read_stdin ? up_.start() : to_ssh_->shutdown_write();
  down_.start();
  io_.run();
  if (interrupted_) return kFailed;
  if (down_.write_error() == 0) {
    const int status = ssh_.wait();
    say_killed(ssh_.killed_by());
    return status;
  }
  say(std::string("write standard output: ") + std::strerror(down_.write_error()));
  return kFailed;
}

}  // namespace

int run_plain_session(Login& login, bool read_stdin, const std::vector<int>& end_signals) {
  return PlainSession(login, end_signals).run(read_stdin);
}

}  // namespace mcdtp
