#include "client/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "common/core/check.h"
#include "common/io/system.h"

namespace mcdtp {
namespace {

constexpr int kSignalDeath = 255;

[[noreturn]] void fail(const std::string& attempt, int error) {
  throw std::runtime_error(attempt + ": " + std::strerror(error));
}

struct Standard {
  int in;
  int out;
  ChildStderr err;
};

bool take(const Standard& fds) {
  if (fds.err == ChildStderr::kNone) become_null(STDERR_FILENO, O_WRONLY);
  return dup2(fds.in, STDIN_FILENO) >= 0 && dup2(fds.out, STDOUT_FILENO) >= 0;
}

// Runs in the child.
[[noreturn]] void run(const std::function<int()>& body, const Standard& fds, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kSignalDeath);
  restore_signals();
  if (!take(fds)) _exit(kSignalDeath);
  _exit(body());
}

}  // namespace

void keep_exit_statuses() {
  struct sigaction action {};
  if (sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) signal(SIGCHLD, SIG_DFL);
}

void restore_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  signal(SIGUSR1, SIG_DFL);
}

void become_null(int fd, int flags) {
  const int null = open("/dev/null", flags | O_CLOEXEC);
  if (null < 0) return;
  dup2(null, fd);
  close(null);
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("make a pipe", errno);
  CHECK(ends[0] > STDERR_FILENO && ends[1] > STDERR_FILENO);
  return {ends[0], ends[1]};
}

std::vector<char*> exec_pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

ChildProcess::ChildProcess(const std::function<int()>& body, ChildStderr stderr_kind) {
  const Pipe to_child = make_pipe();
  const Pipe from_child = make_pipe();
  keep_exit_statuses();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) run(body, {to_child.read_end, from_child.write_end, stderr_kind}, parent);
  const int error = errno;
  close(to_child.read_end);
  close(from_child.write_end);
  stdin_fd_ = to_child.write_end;
  stdout_fd_ = from_child.read_end;
  if (pid_ > 0) return;
  close_pipes();
  fail("start a process", error);
}

ChildProcess::~ChildProcess() {
  constexpr milliseconds kGrace(5000), kPatience(2000);
  close_pipes();
  if (!asked_ && ends_within(may_end_ ? kGrace : milliseconds(0))) return;
  if (!asked_) ask_to_end();
  if (ends_within(kPatience - std::chrono::duration_cast<milliseconds>(now() - *asked_))) return;
  kill(pid_, SIGKILL);
  reap(0);
}

void ChildProcess::ask_to_end() {
  close_pipes();
  if (!has_ended()) kill(pid_, SIGTERM);
  asked_ = now();
}

bool ChildProcess::ends_within(milliseconds patience) {
  constexpr int kLongestStep = 10;
  for (int waited = 0, step = 1; waited < patience.count(); waited += step) {
    if (reap(WNOHANG)) return true;
    poll(nullptr, 0, step);
    step = std::min(step + 1, kLongestStep);
  }
  return reap(WNOHANG);
}

void ChildProcess::close_stdin() { close(take_stdin()); }

void ChildProcess::close_pipes() {
  for (auto* fd : {&stdin_fd_, &stdout_fd_}) {
    if (*fd) close(**fd);
    fd->reset();
  }
}

int ChildProcess::wait() {
  reap(0);
  return *status_;
}

std::string ChildProcess::killed_by() const {
  constexpr std::array kUsual{0, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
  if (std::find(kUsual.begin(), kUsual.end(), ending_signal_) != kUsual.end()) return "";
  return strsignal(ending_signal_);
}

// Returns whether it has ended. A child that someone else reaped counts as ended by a signal.
bool ChildProcess::reap(int wait_options) {
  if (status_) return true;
  int raw = 0;
  pid_t got = 0;
  do {
    got = waitpid(pid_, &raw, wait_options);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return false;
  status_ = got == pid_ && WIFEXITED(raw) ? WEXITSTATUS(raw) : kSignalDeath;
  if (got == pid_ && WIFSIGNALED(raw)) ending_signal_ = WTERMSIG(raw);
  return true;
}

}  // namespace mcdtp
