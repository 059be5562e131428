#include "client/ssh_exec.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "common/core/check.h"

namespace mcdtp {
namespace {

constexpr int kSignalDeath = 255;

[[noreturn]] void fail(const std::string& attempt, int error) {
  throw std::runtime_error(attempt + ": " + std::strerror(error));
}

bool is_program(const std::string& path) {
  struct stat file {};
  return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Links, hard or symbolic, do not hide us from ourselves.
bool is_this_program(const std::string& path) {
  struct stat other {
  }, self{};
  return stat(path.c_str(), &other) == 0 && stat("/proc/self/exe", &self) == 0 &&
         other.st_dev == self.st_dev && other.st_ino == self.st_ino;
}

std::optional<std::string> find_in_path(std::string_view path) {
  for (;;) {
    const auto colon = path.find(':');
    const std::string folder(path.substr(0, colon));
    const std::string candidate = (folder.empty() ? "." : folder) + "/ssh";
    if (is_program(candidate) && !is_this_program(candidate)) return candidate;
    if (colon == std::string_view::npos) return std::nullopt;
    path.remove_prefix(colon + 1);
  }
}

// execv wants pointers that it may write to, by its signature only.
std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// Blocked and ignored signals outlive exec. Only async-signal-safe calls here.
void restore_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
}

// Children are reaped by the kernel where SIGCHLD is ignored, as some callers leave it, and their status is
// lost.
void keep_exit_statuses() {
  struct sigaction action {};
  if (sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) signal(SIGCHLD, SIG_DFL);
}

struct Pipe {
  int read_end;
  int write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("make a pipe to ssh", errno);
  CHECK(ends[0] > STDERR_FILENO && ends[1] > STDERR_FILENO);
  return {ends[0], ends[1]};
}

struct ChildPlan {
  const char* program;
  char* const* argv;
  int stdin_fd;
  int stdout_fd;
  int error_fd;  // where errno is written when it cannot become ssh
  pid_t parent;
};

// Runs in the child between fork and exec: async-signal-safe calls only.
[[noreturn]] void become_ssh(const ChildPlan& plan) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != plan.parent) _exit(kSignalDeath);
  restore_signals();
  if (dup2(plan.stdin_fd, STDIN_FILENO) >= 0 && dup2(plan.stdout_fd, STDOUT_FILENO) >= 0) {
    execv(plan.program, plan.argv);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(plan.error_fd, &error, sizeof error);
  _exit(kSignalDeath);
}

// The error pipe closes at exec: end of file means that ssh runs.
std::optional<int> read_exec_error(int fd) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(fd, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  close(fd);
  return got == sizeof error ? std::optional(error) : std::nullopt;
}

}  // namespace

void ensure_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free descriptor is this one: those below are open by now.
    if (open("/dev/null", O_RDWR) != fd) fail("open /dev/null", errno);
  }
}

std::string find_real_ssh() {
  if (const char* named = std::getenv("MCDTP_REAL_SSH"); named && *named) {
    if (!is_program(named)) throw std::runtime_error(std::string("MCDTP_REAL_SSH: no program at ") + named);
    if (is_this_program(named)) throw std::runtime_error("MCDTP_REAL_SSH: it names mcdtp-shim itself");
    return named;
  }
  const char* path = std::getenv("PATH");
  if (auto found = find_in_path(path ? path : "/usr/bin:/bin")) return *found;
  throw std::runtime_error(
      "find ssh: there is none in PATH but mcdtp-shim itself; MCDTP_REAL_SSH can name it");
}

void hand_over(const std::vector<std::string>& words) {
  const std::string program = find_real_ssh();
  std::vector<std::string> argv = {"ssh"};
  argv.insert(argv.end(), words.begin(), words.end());
  restore_signals();
  execv(program.c_str(), pointers(argv).data());
  fail("start " + program, errno);
}

std::vector<std::string> bootstrap_argv(const Options& options, const std::string& exec_line) {
  CHECK(options.action == Action::kRun);
  std::vector<std::string> argv = {"ssh", "-T", "-oRemoteCommand=none", "-oClearAllForwardings=yes",
                                   "-oControlMaster=no"};
  argv.insert(argv.end(), options.ssh_words.begin(), options.ssh_words.end());
  argv.insert(argv.end(), {"--", options.host, exec_line});
  return argv;
}

SshProcess::SshProcess(const std::vector<std::string>& argv) {
  const std::string program = find_real_ssh();
  std::vector<std::string> words = argv;
  const std::vector<char*> word_pointers = pointers(words);
  const Pipe to_ssh = make_pipe();
  const Pipe from_ssh = make_pipe();
  const Pipe exec_error = make_pipe();
  keep_exit_statuses();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    become_ssh({program.c_str(), word_pointers.data(), to_ssh.read_end, from_ssh.write_end,
                exec_error.write_end, parent});
  }
  const int fork_error = errno;
  for (const int fd : {to_ssh.read_end, from_ssh.write_end, exec_error.write_end}) close(fd);
  stdin_fd_ = to_ssh.write_end;
  stdout_fd_ = from_ssh.read_end;
  const auto exec_errno = read_exec_error(exec_error.read_end);
  const auto error = pid_ < 0 ? std::optional(fork_error) : exec_errno;
  if (!error) return;
  close_pipes();
  if (pid_ > 0) wait();
  fail("start " + program, *error);
}

SshProcess::~SshProcess() {
  constexpr int kPatienceMilliseconds = 2000;
  constexpr int kStepMilliseconds = 10;
  close_pipes();
  if (reap(WNOHANG)) return;
  kill(pid_, SIGTERM);
  for (int waited = 0; waited < kPatienceMilliseconds; waited += kStepMilliseconds) {
    if (reap(WNOHANG)) return;
    poll(nullptr, 0, kStepMilliseconds);
  }
  kill(pid_, SIGKILL);
  reap(0);
}

void SshProcess::close_pipes() {
  for (auto* fd : {&stdin_fd_, &stdout_fd_}) {
    if (*fd) close(**fd);
    fd->reset();
  }
}

int SshProcess::wait() {
  reap(0);
  return *status_;
}

// Returns whether it has ended. A child that someone else reaped counts as ended by a signal.
bool SshProcess::reap(int wait_options) {
  if (status_) return true;
  int raw = 0;
  pid_t got = 0;
  do {
    got = waitpid(pid_, &raw, wait_options);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return false;
  status_ = got == pid_ && WIFEXITED(raw) ? WEXITSTATUS(raw) : kSignalDeath;
  return true;
}

}  // namespace mcdtp
