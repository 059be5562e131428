#include "client/libssh2_process.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>

#include "client/say.h"
#include "client/ssh_libssh2.h"
#include "client/tcp_connect.h"

namespace mcdtp {
namespace {

constexpr int kFailure = 255;
constexpr int kOutcomeFd = 3;
constexpr char kAuthenticated = 'A';
constexpr char kUseSsh = 'S';
constexpr char kUnreachable = 'U';
constexpr char kSaidWhy = 'W';  // after kAuthenticated, at most

// One byte and a line, written at once: less than a pipe holds.
void report(char outcome, const std::string& text) {
  const std::string message = outcome + text + "\n";
  [[maybe_unused]] const ssize_t written = ::write(kOutcomeFd, message.data(), message.size());
}

// ssh would wait as long once more, and then say the same.
bool ssh_gives_up(const SshConfig& config) { return config.connect_timeout().value_or(0) > 0; }

// An error to ssh: LogLevel ERROR lets it through.
void say_error_of_ssh(const Libssh2Plan& plan, const std::string& line, bool quiet) {
  if (!quiet || plan.config.log_level() == LogLevel::kError) write_line_if_room(line + "\r");
}

void report_connect_timeout(const Libssh2Plan& plan, const std::string& error, bool quiet) {
  if (!ssh_gives_up(plan.config) || plan.config.text("connectionattempts") != "1")
    return report(kUseSsh, error);
  const std::string to = plan.config.host_name() + " port " + std::to_string(*plan.config.port());
  say_error_of_ssh(plan, "ssh: connect to host " + to + ": Connection timed out", quiet);
  report(kUnreachable, error);
}

void report_banner_timeout(const Libssh2Plan& plan, const std::string& address, bool quiet) {
  const std::string error = "Connection timed out during banner exchange";
  if (!ssh_gives_up(plan.config)) return report(kUseSsh, error);
  say_error_of_ssh(plan, error, quiet);
  const std::string to = address + " port " + std::to_string(*plan.config.port());
  if (!quiet) write_line_if_room("Connection to " + to + " timed out\r");
  report(kUnreachable, error);
}

// The child's life.
int run_child(const Libssh2Plan& plan, const std::string& exec_line, bool quiet) {
  bool authenticated = false;
  try {
    return run_libssh2(plan, exec_line, [&](const std::string& address) {
      authenticated = true;
      report(kAuthenticated, address);
    });
  } catch (const ConnectTimedOut& error) {
    report_connect_timeout(plan, error.what(), quiet);
    return kFailure;
  } catch (const BannerTimedOut& error) {
    report_banner_timeout(plan, error.what(), quiet);
    return kFailure;
  } catch (const SessionRefused&) {
    // ssh, which runs next, says what there is to say.
    return kSessionRefused;
  } catch (const std::runtime_error& error) {
    if (!authenticated) {
      report(kUseSsh, error.what());
    } else if (!quiet) {
      say_if_room(error.what());
      report(kSaidWhy, "");
    }
    return kFailure;
  }
}

}  // namespace

struct Libssh2Process::Start {
  Start(const Libssh2Plan& the_plan, const std::string& the_line, bool is_quiet)
      : plan(the_plan), exec_line(the_line), quiet(is_quiet), outcome(make_pipe()) {}

  // In the child. All that it does not use is closed, so that it keeps no file of ours open. No core dump is to hold a key.
  int run() const {
    prctl(PR_SET_DUMPABLE, 0);
    if (dup2(outcome.write_end, kOutcomeFd) < 0) return kFailure;
    closefrom(kOutcomeFd + 1);
    return run_child(plan, exec_line, quiet);
  }

  const Libssh2Plan& plan;
  const std::string& exec_line;
  bool quiet;
  Pipe outcome;
};

Libssh2Process::Libssh2Process(const Libssh2Plan& plan, const std::string& exec_line, bool quiet,
                               ChildStderr stderr_kind)
    : Libssh2Process(Start(plan, exec_line, quiet), stderr_kind) {}

Libssh2Process::Libssh2Process(const Start& start, ChildStderr stderr_kind)
    : ChildProcess([&] { return start.run(); }, stderr_kind), outcome_fd_(start.outcome.read_end) {
  ::close(start.outcome.write_end);
}

Libssh2Process::~Libssh2Process() { ::close(outcome_fd_); }

// Without its end; what there is where it has none.
std::string Libssh2Process::read_report() const {
  std::string line;
  char next = 0;
  for (;;) {
    const ssize_t got = ::read(outcome_fd_, &next, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || next == '\n') return line;
    line.push_back(next);
  }
}

bool Libssh2Process::has_said_why() { return read_report().starts_with(kSaidWhy); }

const Libssh2Process::Login& Libssh2Process::login() {
  if (login_) return *login_;
  std::string message = read_report();
  if (message.empty()) message = std::string(1, kUseSsh) + "libssh2's process ended early";
  const char kind = message.front();
  return login_.emplace(Login{kind == kAuthenticated, kind == kUnreachable, message.substr(1)});
}

}  // namespace mcdtp
