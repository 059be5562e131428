#include "common/io/getent.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "common/io/file_text.h"
#include "common/io/unresolved.h"

namespace mcdtp {
namespace {

constexpr int kCannotRun = 127;

// Signals as at login: this thread has all blocked.
class PlainSignals {
 public:
  PlainSignals() {
    sigset_t set;
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attributes_, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attributes_, &set);
  }
  PlainSignals(const PlainSignals&) = delete;
  PlainSignals& operator=(const PlainSignals&) = delete;
  ~PlainSignals() { posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// getent with its stdout on `out` and nothing else of ours; its process, or nothing where it cannot be started.
pid_t start_getent(std::string host, int out) {
  std::array<std::string, 3> words = {"getent", "ahosts", std::move(host)};
  std::array<char*, 4> argv = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  const PlainSignals signals;
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, signals.get(), argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : 0;
}

int exit_status(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return kCannotRun;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kCannotRun;
}

}  // namespace

std::vector<std::string> parse_ahosts(std::string_view printed) {
  std::vector<std::string> addresses;
  while (!printed.empty()) {
    const auto end = std::min(printed.find('\n'), printed.size());
    const std::string_view line = printed.substr(0, end);
    const std::string address(line.substr(0, line.find_first_of(" \t")));
    printed.remove_prefix(std::min(end + 1, printed.size()));
    const bool seen = std::find(addresses.begin(), addresses.end(), address) != addresses.end();
    if (!address.empty() && !seen) addresses.push_back(address);
  }
  return addresses;
}

std::vector<std::string> ask_getent(const std::string& host) {
  // It would be an option.
  if (host.empty() || host.front() == '-') throw Unresolved(host, "no name of a host");
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Unresolved(host, "no pipe");
  const pid_t child = start_getent(host, ends[1]);
  close(ends[1]);
  const std::string printed = child > 0 ? read_text(ends[0]) : "";
  close(ends[0]);
  const int status = child > 0 ? exit_status(child) : kCannotRun;
  if (status == kCannotRun) throw Unresolved(host, "getent cannot be run here");
  auto addresses = parse_ahosts(printed);
  if (status != 0 || addresses.empty()) throw Unresolved(host, "getent knows no such host");
  return addresses;
}

}  // namespace mcdtp
