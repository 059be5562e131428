#include "client/bootstrap.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <csignal>

namespace mcdtp {
namespace {

// What the far command should see as it would under ssh: what Debian's ssh sends and sshd takes, and git's.
bool rides_along(std::string_view name) {
  return name == "LANG" || name.starts_with("LC_") || name == "GIT_PROTOCOL";
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

std::unique_ptr<Login> log_in(const Options& options, const std::string& exec_line) {
  auto login = std::make_unique<Login>();
  login->ssh = std::make_unique<SshProcess>(bootstrap_argv(options, exec_line));
  login->addresses = std::make_unique<FarAddresses>(options.host, options.address_family);
  std::array<std::uint8_t, 16 * 1024> buffer;
  while (login->result == GreetingFinder::Result::kMore) {
    const ssize_t got = read(login->ssh->stdout_fd(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    login->result = login->finder.feed(Bytes(buffer).first(static_cast<std::size_t>(got)));
  }
  wipe(buffer);
  return login;
}

}  // namespace mcdtp
