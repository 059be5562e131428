#include "client/bootstrap.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "client/login_watch.h"

namespace mcdtp {
namespace {

// What the far command should see as it would under ssh: what Debian's ssh sends and sshd takes, and git's.
bool rides_along(std::string_view name) {
  return name == "LANG" || name.starts_with("LC_") || name == "GIT_PROTOCOL";
}

Duration connect_timeout(const std::optional<SshConfig>& config) {
  return seconds(config ? config->connect_timeout().value_or(0) : 0);
}

// A LocalCommand of the user's own has to run, and ssh runs one only.
std::vector<std::string> bootstrap_words(const Options& options, const std::optional<SshConfig>& config,
                                         const std::string& exec_line, const LoginWatch& watch) {
  std::vector<std::string> words = bootstrap_argv(options, exec_line);
  if (config && !config->is_on("permitlocalcommand")) {
    const auto more = watch.ssh_words();
    words.insert(words.begin() + 1, more.begin(), more.end());
  }
  return words;
}

}  // namespace

ExecRequest exec_request(const Options& options) {
  ExecRequest request;
  request.channels = options.channels;
  request.ports = options.ports;
  request.memory_bytes = options.memory_bytes;
  request.cc = options.congestion == CongestionChoice::kFixed ? "fixed" : "auto";
  request.rate_bps = options.rate_bits_per_second;
  request.server_command = options.server_path.value_or("");
  request.subsystem = options.subsystem;
  request.command = options.command;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || !rides_along(text.substr(0, equals))) continue;
    request.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return request;
}

std::unique_ptr<Login> log_in(const Options& options, const std::optional<SshConfig>& config,
                              const std::string& exec_line, Duration patience) {
  LoginWatch watch(std::max<Duration>(patience, connect_timeout(config)));
  auto login = std::make_unique<Login>();
  login->ssh = std::make_unique<SshProcess>(bootstrap_words(options, config, exec_line, watch));
  login->addresses = std::make_unique<FarAddresses>(options.host, options.address_family);
  std::array<std::uint8_t, 16 * 1024> buffer;
  while (login->result == GreetingFinder::Result::kMore) {
    if (!watch.wait_readable(login->ssh->stdout_fd())) {
      login->result = GreetingFinder::Result::kNone;
      break;
    }
    const ssize_t got = read(login->ssh->stdout_fd(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    login->result = login->finder.feed(Bytes(buffer).first(static_cast<std::size_t>(got)));
  }
  wipe(buffer);
  login->done = watch.is_logged_in();
  return login;
}

}  // namespace mcdtp
