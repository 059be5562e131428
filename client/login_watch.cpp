#include "client/login_watch.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "common/io/system.h"

namespace mcdtp {
namespace {

constexpr int kLoginSignal = SIGUSR1;
// We wait in pieces: of one that takes longer, the rest was a standstill.
constexpr Duration kPiece = milliseconds(100);
constexpr int kMostPatience = 4;  // times its length, whatever comes

sigset_t login_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kLoginSignal);
  return set;
}

// What poll() takes: rounded up, so that it never returns before its time.
int poll_milliseconds(std::optional<Duration> wait) {
  if (!wait) return -1;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*wait).count());
}

}  // namespace

LoginWatch::LoginWatch(Duration patience) : patience_(patience) {
  const sigset_t set = login_signal();
  signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd_ < 0) throw std::runtime_error(std::string("watch the log-in: ") + std::strerror(errno));
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_before_);
}

// A signal that comes late must not end us: where ssh is still to tell, it stays ignored (restore_signals() undoes that
// before an exec).
LoginWatch::~LoginWatch() {
  take_signal();
  if (ssh_tells_) std::signal(kLoginSignal, SIG_IGN);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  close(signal_fd_);
}

// The words mean the same to every shell that the user may have.
std::vector<std::string> LoginWatch::ssh_words() {
  ssh_tells_ = true;
  const sigset_t set = login_signal();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return {"-oPermitLocalCommand=yes", "-oLocalCommand=kill -USR1 " + std::to_string(getpid())};
}

void LoginWatch::logged_in() { counts_ = true; }

void LoginWatch::begin_anew() {
  counts_ = true;
  waited_ = {};
  waited_in_all_ = (kMostPatience - 1) * patience_;
}

bool LoginWatch::is_logged_in() {
  take_signal();
  return counts_;
}

void LoginWatch::take_signal() {
  signalfd_siginfo told{};
  if (read(signal_fd_, &told, sizeof told) <= 0) return;
  // Whoever has started us, as rsync, ends its ssh so.
  if (told.ssi_pid == static_cast<std::uint32_t>(getppid())) end_by_signal();
  ssh_tells_ = false;
  logged_in();
}

void LoginWatch::end_by_signal() {
  std::signal(kLoginSignal, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  raise(kLoginSignal);
}

std::optional<Duration> LoginWatch::remaining() const {
  if (!counts_ || heard_) return std::nullopt;
  const Duration left = std::min(patience_ - waited_, kMostPatience * patience_ - waited_in_all_);
  return std::max(Duration(0), left);
}

void LoginWatch::note_waited(Duration waited) {
  waited_ += waited;
  waited_in_all_ += waited;
}

bool LoginWatch::wait_readable(int fd) {
  std::array<pollfd, 2> wanted{{{fd, POLLIN, 0}, {signal_fd_, POLLIN, 0}}};
  for (;;) {
    const auto left = remaining();
    const auto piece = left ? std::optional(std::min(*left, kPiece)) : std::nullopt;
    const Time began = now();
    const int ready = poll(wanted.data(), wanted.size(), poll_milliseconds(piece));
    if (piece) note_waited(std::min(now() - began, *piece));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) throw std::runtime_error(std::string("wait for the greeting: ") + std::strerror(errno));
    if (wanted[0].revents != 0) return true;
    take_signal();
    if (ready == 0 && left == Duration(0)) return false;
  }
}

}  // namespace mcdtp
