#include "client/ssh_config.h"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "client/child_process.h"
#include "client/known_hosts.h"
#include "client/ssh_exec.h"
#include "common/core/whole_number.h"
#include "common/io/file_text.h"

namespace mcdtp {
namespace {

constexpr int kCannotRun = 255;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<std::string> token_value(char letter, const PathTokens& tokens) {
  switch (letter) {
    case '%': return "%";
    case 'd': return tokens.home;
    case 'h': return tokens.host_name;
    case 'i': return tokens.user_id;
    case 'k': return tokens.host_key_name;
    case 'n': return tokens.host;
    case 'p': return tokens.port;
    case 'r': return tokens.remote_user;
    case 'u': return tokens.local_user;
    default: return std::nullopt;
  }
}

// Takes one character, %x or ${NAME} off `path` and returns what stands for it.
std::optional<std::string> take_token(std::string_view& path, const PathTokens& tokens) {
  if (path.starts_with('%')) {
    if (path.size() < 2) return std::nullopt;
    const char letter = path[1];
    path.remove_prefix(2);
    return token_value(letter, tokens);
  }
  if (path.starts_with("${")) {
    const auto end = path.find('}');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string name(path.substr(2, end - 2));
    path.remove_prefix(end + 1);
    return tokens.environment(name);
  }
  std::string plain(1, path.front());
  path.remove_prefix(1);
  return plain;
}

}  // namespace

SshConfig::SshConfig(std::string_view printed_by_ssh) {
  for (const std::string& line : split(printed_by_ssh, '\n')) {
    const auto space = line.find(' ');
    std::string keyword = line.substr(0, space);
    std::transform(keyword.begin(), keyword.end(), keyword.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    values_[keyword].push_back(space == std::string::npos ? "" : line.substr(space + 1));
  }
}

std::string SshConfig::text(const std::string& keyword) const {
  const auto found = values_.find(keyword);
  return found == values_.end() ? "" : found->second.front();
}

std::vector<std::string> SshConfig::lines(const std::string& keyword) const {
  const auto found = values_.find(keyword);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::vector<std::string> SshConfig::words(const std::string& keyword) const {
  return split(text(keyword), ' ');
}

std::vector<std::string> SshConfig::list(const std::string& keyword) const {
  return split(text(keyword), ',');
}

bool SshConfig::is_on(const std::string& keyword) const {
  constexpr std::array<std::string_view, 5> kOff = {"", "no", "false", "none", "0"};
  return std::find(kOff.begin(), kOff.end(), text(keyword)) == kOff.end();
}

bool SshConfig::is_given(const std::string& keyword) const {
  const std::string given = text(keyword);
  return !given.empty() && given != "none";
}

std::string SshConfig::log_in() const {
  std::string text = account();
  for (const char* keyword :
       {"identityfile", "certificatefile", "identityagent", "proxyjump", "proxycommand"}) {
    for (const std::string& line : lines(keyword)) text += "\n" + std::string(keyword) + " " + line;
  }
  return text;
}

std::optional<std::uint16_t> SshConfig::port() const { return parse_whole<std::uint16_t>(text("port")); }

AddressFamily SshConfig::address_family() const {
  const std::string family = text("addressfamily");
  if (family == "inet") return AddressFamily::kIpv4;
  return family == "inet6" ? AddressFamily::kIpv6 : AddressFamily::kAny;
}

std::optional<unsigned> SshConfig::connect_timeout() const {
  return parse_whole<unsigned>(text("connecttimeout"));
}

unsigned SshConfig::server_alive_interval() const {
  return parse_whole<unsigned>(text("serveraliveinterval")).value_or(0);
}

unsigned SshConfig::server_alive_count() const {
  return parse_whole<unsigned>(text("serveralivecountmax")).value_or(0);
}

// `ssh -G` calls QUIET by its other name.
LogLevel SshConfig::log_level() const {
  const std::string name = text("loglevel");
  if (name == "QUIET" || name == "SILENT") return LogLevel::kQuiet;
  if (name == "FATAL") return LogLevel::kFatal;
  if (name == "ERROR") return LogLevel::kError;
  return name == "VERBOSE" || name.starts_with("DEBUG") ? LogLevel::kVerbose : LogLevel::kInfo;
}

bool SshConfig::makes_master() const {
  const std::string master = text("controlmaster"), persist = text("controlpersist");
  return (master == "auto" || master == "autoask") && !persist.empty() && persist != "no" &&
         is_given("controlpath");
}

// HostKeyAlias stands for name and port.
std::string SshConfig::known_hosts_name() const {
  const std::string alias = text("hostkeyalias");
  return alias.empty() ? mcdtp::known_hosts_name(host_name(), port().value_or(0))
                       : mcdtp::known_hosts_name(alias, 22);
}

std::optional<std::string> expand_path(std::string_view path, const PathTokens& tokens) {
  std::string expanded;
  if (path.starts_with('~')) {
    if (path.size() > 1 && path[1] != '/') return std::nullopt;
    expanded = tokens.home;
    path.remove_prefix(1);
  }
  while (!path.empty()) {
    const auto part = take_token(path, tokens);
    if (!part) return std::nullopt;
    expanded += *part;
  }
  return expanded;
}

namespace {

std::optional<SshConfig> ask_ssh(const Options& options, const std::vector<std::string>& command) {
  std::vector<std::string> words = {"ssh", "-G"};
  words.insert(words.end(), options.ssh_words.begin(), options.ssh_words.end());
  // It clears the forwards, unless it is told otherwise.
  if (options.stdio_forward) words.insert(words.end(), {"-W", *options.stdio_forward});
  // It is to write nothing into a log that -E names; the last -E counts.
  words.insert(words.end(), {"-E", "/dev/null", "--", options.host});
  words.insert(words.end(), command.begin(), command.end());
  // Whoever logs in judges its `Match exec` by the same shell.
  const RealSsh real_ssh(std::move(words), true);
  const auto ask = [&] {
    become_null(STDIN_FILENO, O_RDWR);
    real_ssh.become();
    return kCannotRun;
  };
  // A warning would stand twice: the ssh that logs in says it too.
  ChildProcess ssh(ask, ChildStderr::kNone);
  const std::string printed = read_text(ssh.stdout_fd());
  if (ssh.wait() != 0) return std::nullopt;
  return SshConfig(printed);
}

}  // namespace

// Where the configuration says ForkAfterAuthentication, ssh wants to see that there is a command; where it names one
// itself, that there is none.
std::optional<SshConfig> ask_ssh_for_config(const Options& options) {
  auto config = ask_ssh(options, {});
  if (!config && (options.command || options.no_command)) config = ask_ssh(options, {"true"});
  return config;
}

std::string least_config(const Options& options) {
  const passwd* account = getpwuid(getuid());
  return "host " + options.host + "\nuser " + options.user.value_or(account ? account->pw_name : "") +
         "\nhostname " + options.host + "\nport " + std::to_string(options.port.value_or(22)) + "\n";
}

SshConfig default_config(const Options& options, const std::string& user, const std::string& home) {
  const std::string dot_ssh = home + "/.ssh/";
  const char* family = options.address_family == AddressFamily::kIpv4   ? "inet"
                       : options.address_family == AddressFamily::kIpv6 ? "inet6"
                                                                        : "any";
  return SshConfig(
      "hostname " + options.host + "\nport " + std::to_string(options.port.value_or(22)) + "\nuser " +
      options.user.value_or(user) + "\naddressfamily " + family + "\npubkeyauthentication true" +
      "\nidentityfile " + dot_ssh + "id_rsa\nidentityfile " + dot_ssh + "id_ecdsa\nidentityfile " + dot_ssh +
      "id_ed25519\nuserknownhostsfile " + dot_ssh + "known_hosts " + dot_ssh +
      "known_hosts2\nglobalknownhostsfile /etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2" +
      "\nkexalgorithms curve25519-sha256,ecdh-sha2-nistp256,ecdh-sha2-nistp384" +
      "\nciphers aes128-ctr,aes192-ctr,aes256-ctr\nmacs hmac-sha2-256,hmac-sha2-512" +
      "\nhostkeyalgorithms ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521\n");
}

}  // namespace mcdtp
