#include "client/libssh2_plan.h"

#include <pwd.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "client/read_once.h"
#include "client/ssh_exec.h"
#include "client/ssh_libssh2.h"

namespace mcdtp {
namespace {

struct Account {
  std::string name;
  std::string home;
};

Account account_of_caller() {
  const passwd* entry = getpwuid(getuid());
  if (!entry) throw std::runtime_error("look up our own account: there is none for this user id");
  return {entry->pw_name, entry->pw_dir};
}

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

bool exists(const std::string& path) {
  struct stat file {};
  return lstat(path.c_str(), &file) == 0;
}

// IdentityAgent: a path, none, SSH_AUTH_SOCK, or $NAME; unset means SSH_AUTH_SOCK.
std::optional<std::string> agent_socket(const SshConfig& config) {
  const std::string setting = config.text("identityagent");
  if (setting == "none") return std::nullopt;
  std::optional<std::string> path = setting;
  if (setting.empty() || setting == "SSH_AUTH_SOCK") path = variable("SSH_AUTH_SOCK");
  if (setting.starts_with('$')) path = variable(setting.substr(1));
  return path && exists(*path) ? path : std::nullopt;
}

PathTokens path_tokens(const Options& options, const SshConfig& config, const Account& account) {
  const std::string alias = config.text("hostkeyalias");
  return {account.home,
          options.host,
          config.host_name(),
          alias.empty() ? options.host : alias,
          config.text("port"),
          config.user(),
          account.name,
          std::to_string(getuid()),
          variable};
}

// A folder is none, and what is read once is for nobody but ssh.
bool is_for_us(const std::string& path) {
  std::error_code ignored;
  return !is_read_once(path) && !std::filesystem::is_directory(path, ignored);
}

// A name with a space cannot be told from two names, but its second half rarely is an absolute path.
void read_known_hosts_files(const SshConfig& config, const std::string& keyword, LocalFacts& facts,
                            KnownHostKeys& known) {
  for (const std::string& path : config.words(keyword)) {
    if (path == "none") continue;
    if (!path.starts_with('/') || !is_for_us(path)) facts.paths_are_clear = false;
    if (!facts.paths_are_clear) return;
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    read_known_hosts(text, config.known_hosts_name(), known);
  }
}

// `ssh -G` tells ssh's own names for keys like those of the configuration. Of the latter alone ssh says, when it comes
// to one that is not there, that there is none.
bool are_default_names(const std::vector<std::string>& names) {
  constexpr std::array kAlways = {"/.ssh/id_rsa", "/.ssh/id_ecdsa", "/.ssh/id_ed25519"};
  return std::all_of(kAlways.begin(), kAlways.end(), [&](const char* end) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return name.ends_with(end); });
  });
}

void read_identities(const SshConfig& config, const PathTokens& tokens, LocalFacts& facts) {
  const std::vector<std::string> lines = config.lines("identityfile");
  const bool are_default = are_default_names(lines);
  for (const std::string& line : lines) {
    if (line == "none") continue;
    const auto path = expand_path(line, tokens);
    if (!path || !is_for_us(*path)) facts.paths_are_clear = false;
    if (!facts.paths_are_clear) return;
    if (auto identity = read_identity(*path)) {
      facts.identities.push_back(*identity);
    } else if (!are_default) {
      facts.identities.push_back({*path, "", "is not there"});
    }
  }
}

// ssh warns of it, and goes on without.
std::string missing_identity(const Options& options) {
  std::error_code ignored;
  for (const std::string& path : options.identity_files) {
    if (!std::filesystem::exists(path, ignored)) return path;
  }
  return "";
}

Libssh2Plan make_plan(const Options& options, const SshConfig& config, const Account& account) {
  Libssh2Plan plan{options.host, config, {}, {}};
  plan.facts.libssh2_version = libssh2_library_version();
  plan.facts.agent_socket = agent_socket(config);
  plan.facts.missing_identity = missing_identity(options);
  plan.facts.explains = options.verbose > 0;
  const std::string control_path = config.text("controlpath");
  plan.facts.has_control_socket = !control_path.empty() && control_path != "none" && exists(control_path);
  read_known_hosts_files(config, "userknownhostsfile", plan.facts, plan.known);
  read_known_hosts_files(config, "globalknownhostsfile", plan.facts, plan.known);
  read_identities(config, path_tokens(options, config, account), plan.facts);
  return plan;
}

// git asks for the first, and nothing prompts here.
bool is_harmless_line(const SshOption& option) {
  if (option.letter != 'o' || !option.value) return false;
  const std::string keyword = option.value->substr(0, option.value->find_first_of("= \t"));
  return strcasecmp(keyword.c_str(), "sendenv") == 0 || strcasecmp(keyword.c_str(), "batchmode") == 0;
}

// Where there is no ssh default_config() knows user, port and family of the command line; these others change nothing of how
// to log in. All the rest, only ssh could tell what it comes to.
std::optional<std::string> option_for_ssh(const Options& options) {
  constexpr std::string_view kKnown = "lp46vqnNfTxas";
  SshArguments arguments(options.ssh_words, [](std::string_view) { return ValueRule::kUnknown; });
  while (const auto option = arguments.next_option()) {
    const bool is_named_port = option->letter == 'p' && !options.port;
    const bool is_known = kKnown.find(option->letter) != kKnown.npos && !is_named_port;
    if (!is_known && !is_harmless_line(*option)) return "-" + std::string(1, option->letter);
  }
  return std::nullopt;
}

}  // namespace

Libssh2Choice choose_libssh2(const Options& options) {
  const Account account = account_of_caller();
  Libssh2Choice choice;
  choice.has_ssh = look_for_real_ssh().has_value();
  if (choice.has_ssh) choice.config = ask_ssh_for_config(options);
  if (choice.has_ssh && !choice.config) {
    choice.why_not = "ssh does not take the options";
    return choice;
  }
  if (const auto option = choice.has_ssh ? std::nullopt : option_for_ssh(options)) {
    choice.why_not = "there is no ssh to ask about " + *option;
    return choice;
  }
  Libssh2Plan plan = make_plan(
      options, choice.config ? *choice.config : default_config(options, account.name, account.home), account);
  if (auto reason = why_not_libssh2(plan.config, plan.known, plan.facts)) {
    choice.why_not = *reason;
  } else {
    choice.plan = std::move(plan);
  }
  return choice;
}

}  // namespace mcdtp
