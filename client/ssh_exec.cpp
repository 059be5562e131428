#include "client/ssh_exec.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "common/core/check.h"

namespace mcdtp {
namespace {

constexpr int kFailure = 255;

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

// The programs that shims above us have started as ssh, with a colon between them.
constexpr const char* kStarted = "MCDTP_STARTED_SSH";

std::string started_above() {
  const char* value = std::getenv(kStarted);
  return value ? value : "";
}

bool is_script(const std::string& path) {
  std::array<char, 2> start{};
  return std::ifstream(path, std::ios::binary).read(start.data(), start.size()) && start[0] == '#' &&
         start[1] == '!';
}

std::size_t times_started_above(const std::string& path) {
  const std::string all = ":" + started_above() + ":";
  const std::string one = ":" + path + ":";
  std::size_t times = 0;
  for (std::size_t at = all.find(one); at != all.npos; at = all.find(one, at + one.size() - 1)) ++times;
  return times;
}

// A script that was started as ssh and led here would lead here again. Another program may be an ssh that calls ssh for
// a jump host; but no way leads over so many of them.
bool leads_to_us(const std::string& path) {
  constexpr std::size_t kMostJumps = 10;
  if (is_this_program(path)) return true;
  const std::size_t times = times_started_above(path);
  return times > kMostJumps || (times > 0 && is_script(path));
}

// nologin(8), false(1) and the like, wherever they are, and what is no program here.
bool is_shell_that_refuses(const std::string& variable) {
  constexpr std::string_view kName = "SHELL=";
  if (!variable.starts_with(kName) || variable == kName) return false;
  constexpr std::array<std::string_view, 4> kRefuse = {"/nologin", "/false", "/true", "/git-shell"};
  return !is_program(variable.substr(kName.size())) ||
         std::any_of(kRefuse.begin(), kRefuse.end(), [&](auto name) { return variable.ends_with(name); });
}

// What asks by a window of its own asks no one without these.
bool is_for_asking(const std::string& variable) {
  constexpr std::array<std::string_view, 3> kNames = {"DISPLAY=", "WAYLAND_DISPLAY=", "SSH_ASKPASS_REQUIRE="};
  return std::any_of(kNames.begin(), kNames.end(), [&](auto name) { return variable.starts_with(name); });
}

std::vector<std::string> environment_for(const std::string& program, bool needs_shell, SshManner manner) {
  const std::string name = std::string(kStarted) + "=";
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    if (manner == SshManner::kUnattended && is_for_asking(variable)) continue;
    const bool refuses = needs_shell && is_shell_that_refuses(variable);
    if (!variable.starts_with(name)) out.emplace_back(refuses ? "SHELL=/bin/sh" : variable);
  }
  const std::string above = started_above();
  out.push_back(name + (above.empty() ? "" : above + ":") + program);
  if (manner == SshManner::kUnattended) out.emplace_back("SSH_ASKPASS_REQUIRE=never");
  return out;
}

std::optional<std::string> find_in_path(std::string_view path) {
  for (;;) {
    const auto colon = path.find(':');
    const std::string folder(path.substr(0, colon));
    const std::string candidate = (folder.empty() ? "." : folder) + "/ssh";
    if (is_program(candidate) && !leads_to_us(candidate)) return candidate;
    if (colon == std::string_view::npos) return std::nullopt;
    path.remove_prefix(colon + 1);
  }
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

std::optional<std::string> look_for_real_ssh() {
  if (const char* named = std::getenv("MCDTP_REAL_SSH"); named && *named) {
    if (!is_program(named)) throw std::runtime_error(std::string("MCDTP_REAL_SSH: no program at ") + named);
    if (is_this_program(named)) throw std::runtime_error("MCDTP_REAL_SSH: it names mcdtp-shim itself");
    // A script that was started above us: here the next one has its turn.
    if (!leads_to_us(named)) return named;
  }
  const char* path = std::getenv("PATH");
  return find_in_path(path ? path : "/usr/bin:/bin");
}

std::string find_real_ssh() {
  if (auto found = look_for_real_ssh()) return *found;
  throw std::runtime_error(
      "find ssh: there is none in PATH but mcdtp-shim itself; MCDTP_REAL_SSH can name it");
}

bool is_below_our_ssh() { return !started_above().empty(); }

RealSsh::RealSsh(std::vector<std::string> argv, bool needs_shell, SshManner manner)
    : program_(find_real_ssh()),
      words_(std::move(argv)),
      environment_(environment_for(program_, needs_shell, manner)),
      word_pointers_(exec_pointers(words_)),
      environment_pointers_(exec_pointers(environment_)) {}

int RealSsh::become() const {
  execve(program_.c_str(), word_pointers_.data(), environment_pointers_.data());
  return errno;
}

void hand_over(const std::vector<std::string>& words) {
  std::vector<std::string> argv = {"ssh"};
  argv.insert(argv.end(), words.begin(), words.end());
  const RealSsh ssh(std::move(argv));
  restore_signals();
  fail("start " + ssh.program(), ssh.become());
}

std::vector<std::string> bootstrap_argv(const Options& options, const std::string& exec_line) {
  CHECK(options.action == Action::kRun);
  std::vector<std::string> argv = {"ssh", "-T", "-oRemoteCommand=none", "-oClearAllForwardings=yes"};
  if (options.server_subsystem) argv.push_back("-s");
  argv.insert(argv.end(), options.ssh_words.begin(), options.ssh_words.end());
  argv.insert(argv.end(), {"--", options.host, options.server_subsystem.value_or(exec_line)});
  return argv;
}

// What the child needs between fork and exec, made before it, and the pipe on which its errno comes back.
struct SshProcess::Start {
  Start(std::vector<std::string> argv, SshManner ssh_manner)
      : ssh(std::move(argv), true, ssh_manner), manner(ssh_manner), error(make_pipe()) {}
  // Runs in the child: async-signal-safe calls only. Without the session's terminal there is none to ask on.
  int become_ssh() const {
    if (manner == SshManner::kUnattended) setsid();
    const int reason = ssh.become();
    [[maybe_unused]] const ssize_t written = write(error.write_end, &reason, sizeof reason);
    return kFailure;
  }

  RealSsh ssh;
  SshManner manner;
  Pipe error;
};

SshProcess::SshProcess(const std::vector<std::string>& argv, SshManner manner, ChildStderr stderr_kind)
    : SshProcess(Start(argv, manner), stderr_kind) {}

SshProcess::SshProcess(const Start& start, ChildStderr stderr_kind)
    : ChildProcess([&] { return start.become_ssh(); }, stderr_kind) {
  close(start.error.write_end);
  if (const auto error = read_exec_error(start.error.read_end)) fail("start " + start.ssh.program(), *error);
}

}  // namespace mcdtp
