#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/options.h"
#include "client/ssh_config.h"

namespace mcdtp {

// The way to a host behind a jump host. ssh goes there by `ssh -W` over one TCP connection; we have it go by
// `mcdtp-shim --relay -W`, whose channels carry the SSH connection as far as the jump host. That goes on as `ssh -W` where it
// cannot serve.

// Of ProxyJump, the last host, to which the others lead.
struct JumpHost {
  std::string host;                 // never empty; without brackets
  std::optional<std::string> user;  // unset: its own configuration decides, and of `port`
  std::optional<std::uint16_t> port;
  std::string before;  // the others, as they stand there; empty: none
};
// As `ssh -G` prints it. Nothing where it is not to be understood.
std::optional<JumpHost> parse_jump(std::string_view proxy_jump);

// The same options, by which ssh goes over the jump host by us. Nothing: it goes its own way, for there is no jump host, or
// only SSH is to be used, or what would be started cannot be named, or ssh would do otherwise than with the jump host.
std::optional<Options> over_relay(const Options& options, const SshConfig& config);

}  // namespace mcdtp
