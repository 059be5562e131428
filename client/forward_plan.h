#pragma once

#include <optional>
#include <vector>

#include "client/forwards.h"
#include "client/options.h"
#include "client/ssh_config.h"
#include "common/core/target.h"
#include "common/io/listener.h"

namespace mcdtp {

// What one run forwards, and how.
struct ForwardPlan {
  std::vector<Forward> forwards;    // -L, -R and -D, in ssh's order
  std::optional<ForwardEnd> stdio;  // -W
  bool gateway_ports = false;       // our ports without an address of their own are open to all hosts
  bool exit_on_failure = false;     // a port that cannot be had ends the run
  UnixSocketRules unix_sockets;     // of those that we listen on
  bool beside_command = false;      // the session, or -W, has a channel of its own, in ssh's count
  LogLevel log_level = LogLevel::kInfo;
  int family = 0;  // AF_INET, AF_INET6 or AF_UNSPEC, of all ports here

  // Some of our end are UNIX sockets.
  bool listens_at_path() const;
  bool is_said(LogLevel level) const { return level <= log_level; }
  bool forwards_anything() const { return !forwards.empty() || stdio; }
  // How many ports of the far side.
  std::size_t remote_forwards() const;
  // The command is to begin only when all of them are there.
  bool holds_command() const { return exit_on_failure && beside_command && remote_forwards() > 0; }
};

// What the server is asked to listen on, in OPEN; unset: nothing, the port is ours.
std::optional<Target> listen_target(const Forward& forward);
// The far end of a connection, as OPEN says it.
Target connect_target(const ForwardEnd& end);

// What is to be forwarded, after the command line and `config`. Nothing where only ssh can tell, or has to say what is
// wrong. `config`: what ssh resolved; unset where it refused the options, or where there is none.
std::optional<ForwardPlan> plan_forwards(const Options& options, const std::optional<SshConfig>& config);

}  // namespace mcdtp
