#include "client/background.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "client/child_process.h"
#include "common/io/descriptor.h"

namespace mcdtp {
namespace {

constexpr int kKilled = 255;
constexpr char kGo = 'g';          // what the one that goes on says
constexpr char kGoSpeaking = 's';  // and what it started may yet speak on stderr

// Passes on what there is now. False: the end.
bool pass_on(int from) {
  std::array<char, 4096> buffer{};
  const ssize_t got = read(from, buffer.data(), buffer.size());
  if (got > 0) write_stderr_all(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
  return got > 0 || (got < 0 && errno == EINTR);
}

// The last words are in the pipe already; who holds it open beyond them does not matter.
void pass_on_rest(int from) {
  fcntl(from, F_SETFL, O_NONBLOCK);
  while (pass_on(from)) {
  }
}

// What an ssh that logged in says when all are in the background: its stderr is the pipe to us. A process of its own,
// which the terminal's signals do not meet.
void leave_relay(int from) {
  if (fork() != 0) return;
  setsid();
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
  fcntl(from, F_SETFL, 0);
  while (pass_on(from)) {
  }
  _exit(0);
}

// Its exit status once it has ended.
std::optional<int> status_of(pid_t child) {
  int raw = 0;
  const pid_t got = waitpid(child, &raw, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return std::nullopt;
  return got == child && WIFEXITED(raw) ? WEXITSTATUS(raw) : kKilled;
}

sigset_t child_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

// The life of the process that was called. REQUIRES: SIGCHLD is blocked, and `ends` takes it.
[[noreturn]] void wait_in_front(pid_t child, int words, int go, int ends) {
  std::array<pollfd, 3> wanted = {pollfd{words, POLLIN, 0}, pollfd{go, POLLIN, 0}, pollfd{ends, POLLIN, 0}};
  for (;;) {
    if (poll(wanted.data(), wanted.size(), -1) < 0) continue;
    if (wanted[0].revents != 0 && !pass_on(words)) wanted[0].fd = -1;
    char byte = 0;
    const bool may_end = wanted[1].revents != 0 && read(go, &byte, 1) == 1;
    if (wanted[1].revents != 0 && !may_end) wanted[1].fd = -1;
    signalfd_siginfo told{};
    if (wanted[2].revents != 0 && read(ends, &told, sizeof told) < 0 && errno != EINTR) wanted[2].fd = -1;
    const auto status = may_end ? 0 : status_of(child);
    if (!status) continue;
    pass_on_rest(words);
    if (byte == kGoSpeaking) leave_relay(words);
    _exit(*status);
  }
}

}  // namespace

Background::Background() {
  const Pipe words = make_pipe();
  const Pipe go = make_pipe();
  const pid_t parent = getpid();
  keep_exit_statuses();
  const sigset_t child_ends = child_signal();
  sigset_t mask_before;
  pthread_sigmask(SIG_BLOCK, &child_ends, &mask_before);
  const int ends = signalfd(-1, &child_ends, SFD_CLOEXEC);
  const pid_t child = ends < 0 ? -1 : fork();
  if (child < 0) throw std::runtime_error(std::string("start a process: ") + std::strerror(errno));
  if (child > 0) {
    close(words.write_end);
    close(go.write_end);
    wait_in_front(child, words.read_end, go.read_end, ends);
  }
  close(ends);
  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kKilled);
  close(words.read_end);
  close(go.read_end);
  stderr_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  dup2(words.write_end, STDERR_FILENO);
  close(words.write_end);
  to_parent_ = go.write_end;
  for (const int number : {SIGINT, SIGQUIT, SIGHUP}) handlers_[number] = std::signal(number, SIG_IGN);
}

void Background::give_back() {
  if (gone_) return;
  if (stderr_ >= 0) dup2(stderr_, STDERR_FILENO);
  for (const auto& [number, handler] : handlers_) std::signal(number, handler);
}

void Background::go(bool keeps_output) {
  if (gone_) return;
  gone_ = true;
  prctl(PR_SET_PDEATHSIG, 0);
  setsid();
  become_null(STDIN_FILENO, O_RDONLY);
  if (keeps_output && stderr_ >= 0) {
    dup2(stderr_, STDERR_FILENO);
  } else {
    become_null(STDOUT_FILENO, O_WRONLY);
    become_null(STDERR_FILENO, O_WRONLY);
  }
  if (stderr_ >= 0) close(stderr_);
  [[maybe_unused]] const ssize_t written = write(to_parent_, keeps_output ? &kGoSpeaking : &kGo, 1);
  close(to_parent_);
}

}  // namespace mcdtp
