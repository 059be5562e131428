#pragma once

#include <memory>
#include <string>

#include "client/far_addresses.h"
#include "client/options.h"
#include "client/ssh_config.h"
#include "client/ssh_exec.h"
#include "common/core/greeting.h"

namespace mcdtp {

// A log-in under way: the process that carries the SSH channel, and what the far side said first.
struct Login {
  std::unique_ptr<SshProcess> ssh;
  std::unique_ptr<FarAddresses> addresses;
  GreetingFinder finder;
  // kMore: it ended before it said anything; kNone: there will be no greeting.
  GreetingFinder::Result result = GreetingFinder::Result::kMore;
  bool done = false;  // the far side has let us in; false also where nobody could tell
};

// What the client asks of the far shell.
ExecRequest exec_request(const Options& options);

// How long after the log-in a greeting may take, at least.
inline constexpr Duration kGreetingPatience = seconds(5);

// Logs in and waits for the greeting or its absence. Nothing is sent before, so that a forced command sees no
// stray byte. The greeting may take the patience after the log-in, or ConnectTimeout where that is longer;
// where the user's own LocalCommand keeps ssh from telling when the log-in is done, it may take for ever.
// `config` is what ssh resolved, unset where it refused the options. Throws where ssh cannot be started.
std::unique_ptr<Login> log_in(const Options& options, const std::optional<SshConfig>& config,
                              const std::string& exec_line, Duration patience = kGreetingPatience);

}  // namespace mcdtp
