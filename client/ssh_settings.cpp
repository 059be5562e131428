#include "client/ssh_settings.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "client/read_once.h"

namespace mcdtp {
namespace {

constexpr int kLogQuiet = 0;
constexpr int kLogDebug1 = 5;
constexpr int kLogDebug3 = 7;

bool same(const std::string& left, const char* right) { return strcasecmp(left.c_str(), right) == 0; }

template <typename Value>
struct Name {
  const char* name;
  Value value;
};

template <typename Value, std::size_t N>
std::optional<Value> by_name(const std::string& text, const std::array<Name<Value>, N>& names) {
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const auto& entry) { return same(text, entry.name); });
  if (found == names.end()) return std::nullopt;
  return found->value;
}

constexpr std::array kFlags = {Name<bool>{"yes", true}, Name<bool>{"true", true}, Name<bool>{"no", false},
                               Name<bool>{"false", false}};
constexpr std::array kMasters = {Name<bool>{"yes", true},     Name<bool>{"true", true},
                                 Name<bool>{"ask", true},     Name<bool>{"no", false},
                                 Name<bool>{"false", false},  Name<bool>{"auto", false},
                                 Name<bool>{"autoask", false}};
constexpr std::array kTunnels = {Name<bool>{"yes", true},      Name<bool>{"true", true},
                                 Name<bool>{"ethernet", true}, Name<bool>{"point-to-point", true},
                                 Name<bool>{"no", false},      Name<bool>{"false", false}};
constexpr std::array kFamilies = {Name<AddressFamily>{"any", AddressFamily::kAny},
                                  Name<AddressFamily>{"inet", AddressFamily::kIpv4},
                                  Name<AddressFamily>{"inet6", AddressFamily::kIpv6}};
constexpr std::array kTtys = {
    Name<RequestTty>{"yes", RequestTty::kYes},   Name<RequestTty>{"true", RequestTty::kYes},
    Name<RequestTty>{"no", RequestTty::kNo},     Name<RequestTty>{"false", RequestTty::kNo},
    Name<RequestTty>{"auto", RequestTty::kAuto}, Name<RequestTty>{"force", RequestTty::kForce}};
constexpr std::array kSessions = {Name<SessionType>{"default", SessionType::kDefault},
                                  Name<SessionType>{"none", SessionType::kNone},
                                  Name<SessionType>{"subsystem", SessionType::kSubsystem}};
constexpr std::array kLogLevels = {Name<int>{"quiet", kLogQuiet},   Name<int>{"fatal", 1},
                                   Name<int>{"error", 2},           Name<int>{"info", 3},
                                   Name<int>{"verbose", 4},         Name<int>{"debug", kLogDebug1},
                                   Name<int>{"debug1", kLogDebug1}, Name<int>{"debug2", 6},
                                   Name<int>{"debug3", kLogDebug3}};

// The first value wins. A value that ssh will refuse changes nothing here: the bootstrap ssh says the error.
template <typename Value>
void set_first(std::optional<Value>& setting, const std::optional<Value>& value) {
  if (!setting) setting = value;
}

void set_first(std::optional<std::string>& setting, const std::string& value) {
  if (!setting && !value.empty()) setting = value;
}

// ForwardAgent takes the path of a socket too.
void apply_forward_agent(SshSettings& settings, const Keyword& keyword) {
  set_first(settings.forward_agent, std::optional(by_name(keyword.values[0], kFlags).value_or(true)));
}

// RemoteCommand is the whole rest of its line, quotes and all.
void apply_remote_command(SshSettings& settings, const Keyword& keyword) {
  const auto start = keyword.rest.find_first_not_of(" \t\r\n=");
  if (start != std::string::npos) set_first(settings.remote_command, keyword.rest.substr(start));
}

struct Rule {
  const char* name;
  void (*apply)(SshSettings&, const Keyword&);
};

void apply_forward(SshSettings& settings, const Keyword&) { settings.forwards = true; }

template <auto kMember, const auto& kNames>
void apply_named(SshSettings& settings, const Keyword& keyword) {
  set_first(settings.*kMember, by_name(keyword.values[0], kNames));
}

template <auto kMember>
void apply_text(SshSettings& settings, const Keyword& keyword) {
  set_first(settings.*kMember, keyword.values[0]);
}

constexpr std::array kRules = {
    Rule{"addressfamily", apply_named<&SshSettings::address_family, kFamilies>},
    Rule{"clearallforwardings", apply_named<&SshSettings::clear_all_forwardings, kFlags>},
    Rule{"controlmaster", apply_named<&SshSettings::control_master, kMasters>},
    Rule{"dynamicforward", apply_forward},
    Rule{"forkafterauthentication", apply_named<&SshSettings::fork_after_authentication, kFlags>},
    Rule{"forwardagent", apply_forward_agent},
    Rule{"forwardx11", apply_named<&SshSettings::forward_x11, kFlags>},
    Rule{"localforward", apply_forward},
    Rule{"loglevel", apply_named<&SshSettings::log_level, kLogLevels>},
    Rule{"port", apply_text<&SshSettings::port>},
    Rule{"remotecommand", apply_remote_command},
    Rule{"remoteforward", apply_forward},
    Rule{"requesttty", apply_named<&SshSettings::request_tty, kTtys>},
    Rule{"sessiontype", apply_named<&SshSettings::session_type, kSessions>},
    Rule{"stdinnull", apply_named<&SshSettings::stdin_null, kFlags>},
    Rule{"tunnel", apply_named<&SshSettings::tunnel, kTunnels>},
    Rule{"user", apply_text<&SshSettings::user>},
};

// A line that, first in the bootstrap ssh, would keep our server from its stdin or from running at all.
bool starves_bootstrap(const Keyword& keyword) {
  const auto& value = keyword.values[0];
  if (keyword.name == "stdinnull" || keyword.name == "forkafterauthentication")
    return by_name(value, kFlags) == true;
  if (keyword.name != "sessiontype") return false;
  return by_name(value, kSessions).value_or(SessionType::kDefault) != SessionType::kDefault;
}

bool apply_line(SshSettings& settings, const std::string& line) {
  const auto keyword = parse_keyword(line);
  if (!keyword) return true;
  for (const Rule& rule : kRules) {
    if (keyword->name == rule.name) rule.apply(settings, *keyword);
  }
  return !starves_bootstrap(*keyword);
}

void leave_to_ssh(SshSettings& settings, const std::string& what) {
  if (settings.only_ssh.empty()) settings.only_ssh = what;
}

void raise_log_level(SshSettings& settings) {
  const bool first = !std::exchange(settings.debug_seen, true);
  settings.log_level = first ? kLogDebug1 : std::min(*settings.log_level + 1, kLogDebug3);
}

void ask_for_subsystem(SshSettings& settings) {
  set_first(settings.session_type, std::optional(SessionType::kSubsystem));
  if (settings.session_type != SessionType::kSubsystem)
    leave_to_ssh(settings, "-s beside another SessionType");
}

void ask_for_no_command(SshSettings& settings) {
  set_first(settings.session_type, std::optional(SessionType::kNone));
  if (settings.session_type != SessionType::kNone) leave_to_ssh(settings, "-N beside another SessionType");
  settings.request_tty = RequestTty::kNo;
}

// Letters without a value.
void apply_flag(SshSettings& settings, char letter) {
  switch (letter) {
    case '4': settings.address_family = AddressFamily::kIpv4; break;
    case '6': settings.address_family = AddressFamily::kIpv6; break;
    case 'A': settings.forward_agent = true; break;
    case 'a': settings.forward_agent = false; break;
    case 'X':
    case 'Y': settings.forward_x11 = true; break;
    case 'x': settings.forward_x11 = false; break;
    case 'f': settings.fork_after_authentication = settings.stdin_null = true; break;
    case 'N': ask_for_no_command(settings); break;
    case 'n': settings.stdin_null = true; break;
    case 'q': settings.log_level = kLogQuiet; break;
    case 's': ask_for_subsystem(settings); break;
    case 't': settings.request_tty = RequestTty::kYes; break;
    case 'T': settings.request_tty = RequestTty::kNo; break;
    case 'v': raise_log_level(settings); break;
    case 'G': settings.print_configuration = true; [[fallthrough]];
    case 'M':
    case 'P':  // a tag to newer ones, with a value
    case 'V': leave_to_ssh(settings, std::string("-") + letter); break;
    default: break;  // the bootstrap ssh's affair
  }
}

void ask_for_stdio_forward(SshSettings& settings, const std::string& value) {
  if (settings.stdio_forward || value.empty()) leave_to_ssh(settings, "-W twice, or without a target");
  settings.stdio_forward = value;
  settings.session_type = SessionType::kNone;
  settings.request_tty = RequestTty::kNo;
}

// False: the bootstrap ssh must not have it.
bool apply_value(SshSettings& settings, char letter, const std::string& value) {
  switch (letter) {
    case 'D':
    case 'L':
    case 'R': settings.forwards = true; break;
    case 'O':
    case 'Q':
    case 'w': leave_to_ssh(settings, std::string("-") + letter); break;
    case 'W': ask_for_stdio_forward(settings, value); return false;
    case 'F': settings.config_file = value; break;
    case 'l': set_first(settings.user, std::optional(value)); break;
    case 'p': set_first(settings.port, std::optional(value)); break;
    case 'o': return apply_line(settings, value);
    default: break;
  }
  return true;
}

}  // namespace

bool apply_ssh_option(const SshOption& option, SshSettings& settings) {
  const bool unknown = ssh_letter_rule(option.letter) == ValueRule::kUnknown;
  if (unknown || option.value_missing) leave_to_ssh(settings, std::string("-") + option.letter);
  // What `ssh -G` prints of it could not be told from lines of its own.
  if (option.value.value_or("").find('\n') != std::string::npos)
    leave_to_ssh(settings, std::string("a line break in -") + option.letter);
  if (option.value) return apply_value(settings, option.letter, *option.value);
  apply_flag(settings, option.letter);
  return std::string_view("fnNs").find(option.letter) == std::string_view::npos;
}

std::optional<std::string> reason_for_real_ssh(const SshSettings& settings) {
  if (!settings.only_ssh.empty()) return settings.only_ssh;
  const bool terminal =
      settings.request_tty == RequestTty::kYes || settings.request_tty == RequestTty::kForce;
  if (terminal) return "a terminal is asked for";
  if (settings.control_master == true) return "a ControlMaster is asked for";
  if (settings.forward_agent == true) return "agent forwarding";
  if (settings.forward_x11 == true) return "X11 forwarding";
  if (settings.tunnel == true) return "a tunnel device";
  if (settings.remote_command && !same(*settings.remote_command, "none")) return "RemoteCommand";
  if (is_read_once(settings.config_file)) return settings.config_file + " is no plain file";
  return std::nullopt;
}

}  // namespace mcdtp
