#include "server/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace mcdtp {
namespace {

// What a child says that could not become the shell: sshd's.
constexpr int kExecFailed = 1;
// How the ssh client reports death by a signal.
constexpr int kKilledStatus = 255;
// A command may see that nobody is there any more, and clean up or come to its end, before it is hung up.
constexpr int kGraceMs = 5000;

[[noreturn]] void throw_errno(const char* attempt) {
  throw std::system_error(errno, std::generic_category(), attempt);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The shell's arguments, from the name that it sees itself under.
std::vector<std::string> shell_words(const CommandSpec& spec, const std::string& shell) {
  if (!spec.command) return {"-" + base_name(shell)};
  std::string command = *spec.command;
  if (spec.subsystem) {
    const std::optional<std::string> program = find_subsystem(command);
    if (!program)
      throw std::runtime_error("start subsystem " + command + ": this host has no program for it");
    command = *program;
  }
  return {base_name(shell), "-c", command};
}

// Each name once: shells differ in which of two they take.
std::vector<std::string> merged_environment(const CommandSpec& spec) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  for (const auto& [name, value] : spec.environment) {
    const std::string start = name + "=";
    std::erase_if(entries, [&](const std::string& entry) { return entry.starts_with(start); });
    entries.push_back(start + value);
  }
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// All that execve needs, made before the fork.
class Program {
 public:
  explicit Program(const CommandSpec& spec)
      : account_(spec.account),
        words_(shell_words(spec, account_.shell)),
        environment_(merged_environment(spec)),
        argv_(pointers(words_)),
        envp_(pointers(environment_)) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[noreturn]] void become() const;

 private:
  [[noreturn]] void give_up(int error) const;

  Account account_;
  std::vector<std::string> words_;
  std::vector<std::string> environment_;
  std::vector<char*> argv_;
  std::vector<char*> envp_;
};

// Handlers and masks of ours are nothing to the command. Unblocking comes last: a signal that waited must
// find no handler of ours.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

void close_all_but_standard() {
  if (close_range(STDERR_FILENO + 1, ~0U, 0) == 0) return;
  // Before Linux 5.9.
  const long limit = sysconf(_SC_OPEN_MAX);
  for (int fd = STDERR_FILENO + 1; fd < limit; ++fd) ::close(fd);
}

// Where the home directory cannot be entered, sshd has said so already, and runs the command all the same.
void Program::become() const {
  reset_signals();
  close_all_but_standard();
  [[maybe_unused]] const int ignored = chdir(account_.home.c_str());
  execve(account_.shell.c_str(), argv_.data(), envp_.data());
  give_up(errno);
}

void Program::give_up(int error) const {
  const std::string sentence = account_.shell + ": " + std::strerror(error) + "\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, sentence.data(), sentence.size());
  _exit(kExecFailed);
}

// Never 0, 1 or 2, which we may have been started without: dup2 in the child would overwrite one with
// another.
OwnedFd above_standard(int fd) {
  OwnedFd low(fd);
  if (fd > STDERR_FILENO) return low;
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (high < 0) throw_errno("move a pipe of the command");
  return OwnedFd(high);
}

// Pipes, as sshd on Linux gives (on other systems it gives socket pairs): programs ask what they were given.
// Each end is an open file of its own, so that O_NONBLOCK on ours is not seen by the command.
struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("make a pipe for the command");
    OwnedFd second(ends[1]);
    read = above_standard(ends[0]);
    write = above_standard(second.release());
  }
  OwnedFd read;
  OwnedFd write;
};

OwnedFd non_blocking(OwnedFd fd) {
  const int flags = fcntl(fd.get(), F_GETFL);
  if (flags < 0 || fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) < 0)
    throw_errno("set up a pipe of the command");
  return fd;
}

// Blocks all signals while it lives, so that in the new process none can run a handler of ours, which would
// tell this process of it. SIGCHLD is unblocked afterwards whatever it was.
class SignalPause {
 public:
  SignalPause() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    sigdelset(&before_, SIGCHLD);
  }
  SignalPause(const SignalPause&) = delete;
  SignalPause& operator=(const SignalPause&) = delete;
  ~SignalPause() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// While SIGCHLD is ignored the kernel reaps, and the status is lost.
void stop_ignoring_children() {
  struct sigaction action {};
  if (sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
    std::signal(SIGCHLD, SIG_DFL);
}

// Runs in the guardian, a process of the command's group that holds nothing but the reading end of a pipe.
// Its end without a word says that the server has gone without having reaped the command: if that does not end in
// kGraceMs the group is hung up. Being a member keeps the group's number from becoming a stranger's, so that the
// signal cannot miss. All signals are blocked here: those to the group are not meant for it.
[[noreturn]] void guard(int server) {
  prctl(PR_SET_NAME, "mcdtp-guardian");
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(server, fd);
  close_all_but_standard();
  // Where there are no such descriptors (below Linux 5.3) the whole time is waited.
  pollfd leader{static_cast<int>(syscall(SYS_pidfd_open, getpgrp(), 0)), POLLIN, 0};
  char word = 0;
  ssize_t got = 0;
  do {
    got = read(STDIN_FILENO, &word, sizeof word);
  } while (got < 0 && errno == EINTR);
  if (got == 0 && poll(&leader, 1, kGraceMs) == 0) kill(0, SIGHUP);
  _exit(0);
}

// A child of the server, not of the command, which may wait for whatever children it has.
// False: there is none.
bool start_guardian(int server) {
  const long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) guard(server);
  return pid > 0;
}

// Runs in the new process, all signals blocked.
[[noreturn]] void run_child(const Program& program, const Pipe& in, const Pipe& out, const Pipe& err,
                            const Pipe& lifeline, pid_t parent) {
  setsid();
  ::close(lifeline.write.get());
  // Both would hang up twice.
  if (!start_guardian(lifeline.read.get())) prctl(PR_SET_PDEATHSIG, SIGHUP);
  // It died before it could be watched.
  if (getppid() != parent) _exit(kKilledStatus);
  const bool connected = dup2(in.read.get(), STDIN_FILENO) >= 0 &&
                         dup2(out.write.get(), STDOUT_FILENO) >= 0 &&
                         dup2(err.write.get(), STDERR_FILENO) >= 0;
  if (!connected) _exit(kExecFailed);
  program.become();
}

}  // namespace

std::optional<std::string> find_subsystem(std::string_view name) {
  if (name != "sftp") return std::nullopt;
  // Debian and Ubuntu; Fedora; the BSDs and Alpine; SUSE and Arch; Gentoo.
  for (const char* path :
       {"/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/libexec/sftp-server",
        "/usr/lib/ssh/sftp-server", "/usr/lib/misc/sftp-server"})
    if (access(path, X_OK) == 0) return path;
  return std::nullopt;
}

Command::Command(const CommandSpec& spec) {
  const Program program(spec);
  Pipe in;
  Pipe out;
  Pipe err;
  Pipe lifeline;
  stdin_ = non_blocking(std::move(in.write));
  stdout_ = non_blocking(std::move(out.read));
  stderr_ = non_blocking(std::move(err.read));
  stop_ignoring_children();
  const SignalPause pause;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw_errno("start the command");
  if (child == 0) run_child(program, in, out, err, lifeline, parent);
  pid_ = child;
  lifeline_ = std::move(lifeline.write);
}

std::optional<int> Command::try_reap() {
  if (!status_) status_ = reap_command();
  // The guardian, which ends soon after the command: one SIGCHLD may tell of both.
  if (status_) waitpid(-pid_, nullptr, WNOHANG);
  return status_;
}

// The guardian is dismissed before: from the reaping on nobody may be signalled.
std::optional<int> Command::reap_command() {
  siginfo_t ended{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      ended.si_pid != pid_) {
    return std::nullopt;
  }
  dismiss_guardian();
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kKilledStatus;
}

void Command::hang_up() {
  lifeline_.close();
  stdin_.close();
  stdout_.close();
  stderr_.close();
}

void Command::dismiss_guardian() {
  if (!lifeline_.is_open()) return;
  [[maybe_unused]] const ssize_t ignored = write(lifeline_.get(), "", 1);
  lifeline_.close();
}

void run_plain(const CommandSpec& spec) { Program(spec).become(); }

}  // namespace mcdtp
