#pragma once

#include <optional>
#include <string>

#include "client/ssh_words.h"

namespace mcdtp {

enum class AddressFamily { kAny, kIpv4, kIpv6 };
enum class RequestTty { kAuto, kNo, kYes, kForce };
enum class SessionType { kDefault, kNone, kSubsystem };

// What ssh's own options on the command line ask for, as far as we must know it. ssh keeps the first value
// of a keyword; most letters overwrite what stands. The configuration files are not read here.
struct SshSettings {
  std::optional<std::string> user;
  std::optional<std::string> port;
  std::optional<std::string> remote_command;
  std::optional<AddressFamily> address_family;
  std::optional<RequestTty> request_tty;
  std::optional<SessionType> session_type;
  std::optional<bool> clear_all_forwardings;
  std::optional<bool> control_master;  // a master of its own is wanted, not only used or made when handy
  std::optional<bool> fork_after_authentication;
  std::optional<bool> forward_agent;
  std::optional<bool> forward_x11;
  std::optional<bool> stdin_null;
  std::optional<bool> tunnel;
  std::optional<std::string> stdio_forward;  // -W; session_type is then kNone
  std::string config_file;                   // -F
  std::optional<int> log_level;      // ssh's numbers: 0 quiet, 2 error, 3 info (its default), 5 to 7 debug
  bool debug_seen = false;           // from the second -v on the level goes up by one
  bool forwards = false;             // -L, -R, -D or their keywords; ClearAllForwardings undoes them
  bool print_configuration = false;  // -G
  std::string only_ssh;              // the first option met that only ssh itself can do; empty: none
};

// Applies one short option; our own -c N must not come here. Returns whether the bootstrap ssh gets the
// option too: all but those that would take its stdin away or turn our server's command into a subsystem.
bool apply_ssh_option(const SshOption& option, SshSettings& settings);

// What of the settings only the real ssh can do, in words for -v. Nothing: we can run it.
std::optional<std::string> reason_for_real_ssh(const SshSettings& settings);

}  // namespace mcdtp
