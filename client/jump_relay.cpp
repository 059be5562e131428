#include "client/jump_relay.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "client/own_options.h"
#include "client/ssh_words.h"

namespace mcdtp {
namespace {

// The file of this program; empty where it cannot be told.
std::string own_path() {
  std::error_code error;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", error);
  return access(path.c_str(), X_OK) == 0 ? path : "";
}

// In single quotes, which all shells take; and for ssh, which expands what follows a "%".
std::string in_quotes(std::string_view word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') out += "'\\'";
    if (c == '%') out += '%';
    out += c;
  }
  return out + "'";
}

// As ssh would call itself: only where the configuration is, how much is to be said, and the way.
std::vector<std::string> words_of_ssh(const Options& options, const JumpHost& jump) {
  std::vector<std::string> words;
  const auto add = [&words](const char* letter, const std::string& value) {
    words.insert(words.end(), {letter, value});
  };
  if (jump.user) add("-l", *jump.user);
  if (jump.port) add("-p", std::to_string(*jump.port));
  if (!jump.before.empty()) add("-J", jump.before);
  SshArguments arguments(options.ssh_words, own_option_rule);
  while (const auto option = arguments.next_option()) {
    if (option->letter == 'F' && option->value) add("-F", *option->value);
  }
  words.insert(words.end(), static_cast<std::size_t>(options.verbose), "-v");
  return words;
}

std::string relay_command(const std::string& program, const Options& options, const JumpHost& jump) {
  std::string command = in_quotes(program) + " --relay";
  for (const auto& words : {words_of_way(options), words_of_ssh(options, jump)}) {
    for (const std::string& word : words) command += " " + in_quotes(word);
  }
  return command + " -W '[%h]:%p' -- " + in_quotes(jump.host);
}

// -J beside a ProxyCommand is an error.
std::vector<std::string> without_jump(const std::vector<std::string>& words) {
  SshArguments arguments(words, own_option_rule);
  KeptWords kept;
  while (const auto option = arguments.next_option()) {
    if (option->letter != 'J') kept.keep(*option);
  }
  return kept.words();
}

// To ssh a ProxyCommand is another thing than a jump host: it may leave the name as it is then, and gives up on an attempt that
// takes its time where it has less than that.
bool heeds_proxy_command(const SshConfig& config) {
  constexpr unsigned kLeastTimeout = 10;  // s
  const bool expands_names =
      config.is_on("canonicalizehostname") && config.text("canonicalizehostname") != "always";
  return expands_names || config.connect_timeout().value_or(kLeastTimeout) < kLeastTimeout;
}

}  // namespace

std::optional<JumpHost> parse_jump(std::string_view proxy_jump) {
  JumpHost jump;
  std::string_view last = proxy_jump;
  if (const auto comma = last.rfind(','); comma != last.npos) {
    jump.before = last.substr(0, comma);
    last.remove_prefix(comma + 1);
  }
  if (const auto at = last.rfind('@'); at != last.npos) {
    jump.user = last.substr(0, at);
    last.remove_prefix(at + 1);
  }
  if (last.starts_with('[') && last.find(']') != last.npos) {
    jump.host = last.substr(1, last.find(']') - 1);
    last.remove_prefix(last.find(']') + 1);
  } else {
    jump.host = last.substr(0, last.find_first_of("[:"));
    last.remove_prefix(jump.host.size());
  }
  if (last.starts_with(':')) jump.port = parse_port(last.substr(1));
  const bool is_whole = last.empty() || jump.port;
  return is_whole && !jump.host.empty() ? std::optional(std::move(jump)) : std::nullopt;
}

// Where a host is its own jump host only ssh knows what to say, and what its tokens stand for.
std::optional<Options> over_relay(const Options& options, const SshConfig& config) {
  const std::string proxy_jump = config.text("proxyjump");
  if (options.transport == Transport::kSsh || !config.is_given("proxyjump")) return std::nullopt;
  if (proxy_jump.find('%') != proxy_jump.npos || heeds_proxy_command(config)) return std::nullopt;
  const auto jump = parse_jump(proxy_jump);
  if (!jump || jump->host == options.host || jump->host == config.host_name()) return std::nullopt;
  const std::string program = own_path();
  if (program.empty()) return std::nullopt;
  Options way = options;
  way.ssh_words = {"-oProxyCommand=" + relay_command(program, options, *jump), "-oProxyUseFdpass=no"};
  for (std::string& word : without_jump(options.ssh_words)) way.ssh_words.push_back(std::move(word));
  return way;
}

}  // namespace mcdtp
