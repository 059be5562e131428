#pragma once

#include <memory>
#include <string>

#include "client/child_process.h"
#include "client/far_addresses.h"
#include "client/install_offer.h"
#include "client/libssh2_plan.h"
#include "client/options.h"
#include "client/ssh_config.h"
#include "common/core/exec_line.h"
#include "common/core/greeting.h"

namespace mcdtp {

// A log-in under way: the process that carries the SSH channel, and what the far side said first.
struct Login {
  std::unique_ptr<ChildProcess> ssh;  // the real ssh, or libssh2
  std::unique_ptr<FarAddresses> addresses;
  std::vector<std::string>
      further_ssh;           // of another ssh like it, see SshLinks, without its -W and host; empty: none
  std::string peer_address;  // numeric, as libssh2 found it; empty with the real ssh
  GreetingFinder finder;
  // kMore: it ended before it said anything; kNone: there will be no greeting.
  GreetingFinder::Result result = GreetingFinder::Result::kMore;
  bool done = false;  // the far side has let us in; false also where nobody could tell
  // The result came after the far side was told that nobody waits for it any more.
  bool late = false;
};

// What the client asks of the far shell. `config`: what ssh resolved, unset where it refused the options; its
// SendEnv decides which variables ride along.
ExecRequest exec_request(const Options& options, const std::optional<SshConfig>& config);

// What the far side is told.
struct Opening {
  std::string start_word;  // what the far side says first
  std::string exec_line;
  std::string request_line;           // where the server is a subsystem, and asks
  std::string environment_line;       // where the server asks for variables that are not to be in argv
  std::optional<InstallOffer> offer;  // where a server may be installed
};
// Nothing: it cannot be said in a line; see build_exec_line(). Tells the user where there is nothing to install.
std::optional<Opening> build_opening(const Options& options, const std::optional<SshConfig>& config,
                                     ExecRequest request);

// What the configuration files ask for beyond the command line: no command, no stdin, the background. (What the
// command line says of these does not reach the ssh that is asked, unless it says no.)
void apply_configuration(Options& options, const SshConfig& config);

// What the configuration asks for that only the real ssh can do (a terminal, a command of its own), in words for -v;
// unset: nothing.
std::optional<std::string> only_for_ssh(const SshConfig& config);

// A key that wants a touch, as far as its file's name tells: ssh says so on stderr, and that is silent where we log in again.
bool has_key_to_touch(const SshConfig& config);

// How long after the log-in a greeting may take, at least.
inline constexpr Duration kGreetingPatience = seconds(5);
// Likewise, but no longer, for who could as well go another way.
inline constexpr Duration kRelayPatience = seconds(3);

// Logs in, by libssh2 where `choice` has a plan for it and by the real ssh otherwise, and waits for the greeting
// or its absence. Nothing is sent before it is asked for, so that a forced command sees no stray byte. The greeting may
// take the patience after the log-in, or ConnectTimeout where that is longer, and as long again after what comes before it, up
// to four times in all, or without end where a question was answered.
// Whoever is silent for longer gets the end of stdin, and is heard out for as long again: what was asked for must have
// begun by then or never begin. Throws where ssh cannot be started, or libssh2 alone may be used and cannot.
std::unique_ptr<Login> log_in(const Options& options, const Libssh2Choice& choice, const Opening& opening,
                              Duration patience = kGreetingPatience);

}  // namespace mcdtp
