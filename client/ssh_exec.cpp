#include "client/ssh_exec.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
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
  execv(program.c_str(), exec_pointers(argv).data());
  fail("start " + program, errno);
}

std::vector<std::string> bootstrap_argv(const Options& options, const std::string& exec_line) {
  CHECK(options.action == Action::kRun);
  std::vector<std::string> argv = {"ssh", "-T", "-oRemoteCommand=none", "-oClearAllForwardings=yes",
                                   "-oControlMaster=no"};
  if (options.server_subsystem) argv.push_back("-s");
  argv.insert(argv.end(), options.ssh_words.begin(), options.ssh_words.end());
  argv.insert(argv.end(), {"--", options.host, options.server_subsystem.value_or(exec_line)});
  return argv;
}

// What the child needs between fork and exec, made before it, and the pipe on which its errno comes back.
struct SshProcess::Start {
  explicit Start(std::vector<std::string> argv)
      : program(find_real_ssh()),
        words(std::move(argv)),
        pointers(exec_pointers(words)),
        error(make_pipe()) {}
  // Runs in the child: async-signal-safe calls only.
  int become_ssh() const {
    execv(program.c_str(), pointers.data());
    const int reason = errno;
    [[maybe_unused]] const ssize_t written = write(error.write_end, &reason, sizeof reason);
    return kFailure;
  }

  std::string program;
  std::vector<std::string> words;
  std::vector<char*> pointers;
  Pipe error;
};

SshProcess::SshProcess(const std::vector<std::string>& argv) : SshProcess(Start(argv)) {}

SshProcess::SshProcess(const Start& start) : ChildProcess([&] { return start.become_ssh(); }) {
  close(start.error.write_end);
  if (const auto error = read_exec_error(start.error.read_end)) fail("start " + start.program, *error);
}

}  // namespace mcdtp
