// Usage: libssh2-login [SSH-OPTION...] HOST EXEC-LINE
// Logs in by libssh2 or says why it does not, then behaves as ssh would. On stderr one line tells what became
// of it: "ssh: REASON" (status 77) or "libssh2: ADDRESS". SNDBUF in the environment sets SO_SNDBUF on its
// sockets.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "client/libssh2_plan.h"
#include "client/libssh2_process.h"
#include "client/ssh_exec.h"
#include "common/io/descriptor.h"

// Stands in front of the C library's, so that the program under test needs no switch for its test.
extern "C" int socket(int domain, int type, int protocol) noexcept {
  const int fd = static_cast<int>(syscall(SYS_socket, domain, type, protocol));
  const char* wanted = std::getenv("SNDBUF");
  const int size = wanted ? std::atoi(wanted) : 0;
  if (fd >= 0 && size > 0) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  return fd;
}

namespace mcdtp {
namespace {

constexpr int kUsesSsh = 77;

void copy(int from, int to) {
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got <= 0) return;
    for (ssize_t done = 0; done < got;) {
      const ssize_t written = write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (written <= 0) return;
      done += written;
    }
  }
}

int use_ssh(const std::string& reason) {
  std::fprintf(stderr, "ssh: %s\n", reason.c_str());
  return kUsesSsh;
}

int run(const std::vector<std::string>& words) {
  const Options options = parse_options(words);
  if (options.action != Action::kRun) throw std::runtime_error("bad options: " + options.message);
  const Libssh2Choice choice = choose_libssh2(options);
  if (!choice.has_ssh) std::fprintf(stderr, "no ssh\n");
  if (!choice.plan) return use_ssh(choice.why_not);
  Libssh2Process process(*choice.plan, options.command.value_or(""), options.quiet);
  if (!process.login().authenticated) return use_ssh(process.login().text);
  std::fprintf(stderr, "libssh2: %s\n", process.login().text.c_str());
  const int to = dup(process.stdin_fd()), from = dup(process.stdout_fd());
  process.close_pipes();
  std::thread([to] {
    copy(STDIN_FILENO, to);
    close(to);
  }).detach();
  copy(from, STDOUT_FILENO);
  close(from);
  close(STDOUT_FILENO);
  return process.wait();
}

}  // namespace
}  // namespace mcdtp

int main(int count, char** words) {
  mcdtp::open_missing_stdio();
  signal(SIGPIPE, SIG_IGN);
  try {
    const int status = mcdtp::run({words + 1, words + count});
    _exit(status);
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "libssh2-login: %s\n", error.what());
    return 255;
  }
}
