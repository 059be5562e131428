#pragma once

#include <memory>
#include <string>

#include "client/far_addresses.h"
#include "client/options.h"
#include "client/ssh_exec.h"
#include "common/core/greeting.h"

namespace mcdtp {

// A log-in under way: the process that carries the SSH channel, and what the far side said first.
struct Login {
  std::unique_ptr<SshProcess> ssh;
  std::unique_ptr<FarAddresses> addresses;
  GreetingFinder finder;
  GreetingFinder::Result result = GreetingFinder::Result::kMore;  // kMore: it ended before it said anything
};

// What the client asks of the far shell.
ExecRequest exec_request(const Options& options);

// Logs in and waits for the greeting or its absence. Nothing is sent before, so that a forced command sees no
// stray byte. Throws where ssh cannot be started.
std::unique_ptr<Login> log_in(const Options& options, const std::string& exec_line);

}  // namespace mcdtp
