#include "server/admin.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string_view>

#include "common/core/exec_line.h"
#include "server/command.h"

namespace mcdtp {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw std::runtime_error("read the options: " + reason);
}

bool is_harmless(std::string_view name) {
  return name == "LANG" || name.starts_with("LC_") || name == "GIT_PROTOCOL";
}

// sshd says of a subsystem with a program which program that is.
std::string original_of(const ServerOptions& client) {
  return client.subsystem ? find_subsystem(*client.command).value_or(*client.command) : *client.command;
}

void ask(std::string_view line) {
  if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    throw std::runtime_error("ask the client: standard output takes nothing");
}

// One line, or less where the client has gone or says too much.
std::string read_line() {
  std::string line;
  char c = 0;
  while (line.size() < kMaxExecLine && !line.ends_with('\n')) {
    const ssize_t got = read(STDIN_FILENO, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    line += c;
  }
  return line;
}

}  // namespace

std::optional<AdminOptions> parse_admin_options(const std::vector<std::string>& words) {
  constexpr std::string_view kOurs[] = {"--forced", "--ask", "--limits"};
  const auto is_ours = [&](const std::string& word) {
    return std::find(std::begin(kOurs), std::end(kOurs), word) != std::end(kOurs);
  };
  if (words.empty() || !is_ours(words.front())) return std::nullopt;
  AdminOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_ours(words[i])) refuse(words[i] + " does not go with " + words.front());
    if (words[i] == "--ask") {
      options.asks = true;
      continue;
    }
    if (i + 1 == words.size()) refuse(words[i] + " needs a value");
    const std::string& value = words[i + 1];
    if (words[i] == "--forced") options.forced = value;
    if (words[i] == "--limits") options.limits_files.push_back(value);
    ++i;
  }
  if (options.asks == options.forced.has_value()) refuse("give one of --forced and --ask");
  return options;
}

std::optional<ServerOptions> forced_options(const std::string& forced,
                                            const std::optional<std::string>& original) {
  const auto words = original ? parse_exec_line(*original) : std::nullopt;
  if (!words) return std::nullopt;
  ServerOptions options = parse_server_words(*words);
  if (options.print) return std::nullopt;
  keep_harmless(options.environment);
  if (options.command) options.environment.emplace_back("SSH_ORIGINAL_COMMAND", original_of(options));
  // Who wants no command at all gets none, as under sshd.
  if (!options.no_command) options.command = forced;
  options.subsystem = false;
  options.remote_forwards = 0;
  options.policy = {false, false, GatewayPorts::kNo};
  options.login_host_alone = true;
  // Nor does it write where the client says.
  options.log_path.reset();
  options.full_log_path.reset();
  return options;
}

void keep_harmless(Environment& environment) {
  std::erase_if(environment, [](const auto& variable) { return !is_harmless(variable.first); });
}

Environment ask_for_environment() {
  ask(environment_question());
  auto environment = parse_environment_line(read_line());
  if (!environment) throw std::runtime_error("ask the client: it is none of ours");
  return std::move(*environment);
}

std::vector<std::string> ask_for_words() {
  ask(ask_line());
  auto words = parse_request_line(read_line());
  if (!words) throw std::runtime_error("ask the client: it is none of ours");
  return std::move(*words);
}

}  // namespace mcdtp
