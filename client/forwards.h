#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/ssh_config.h"

namespace mcdtp {

// What a forwarded connection is made to.
struct ForwardEnd {
  std::string host;        // as given: a name or an address
  std::uint16_t port = 0;  // 1 and up unless `path` is set
  std::string path;        // not empty: a UNIX socket, and neither host nor port
  bool operator==(const ForwardEnd&) const = default;
};

// Where connections to be forwarded are taken.
struct ListenEnd {
  std::optional<std::string> bind;  // unset: as GatewayPorts says; "" or "*": all addresses
  std::uint16_t port = 0;           // 0 only on the far side, which then chooses one
  std::string path;                 // not empty: a UNIX socket, and neither bind nor port
  bool operator==(const ListenEnd&) const = default;
};

struct Forward {
  enum class Kind { kLocal, kRemote, kDynamic, kRemoteDynamic };
  Kind kind = Kind::kLocal;
  ListenEnd listen;
  ForwardEnd connect;  // empty for the two dynamic kinds: SOCKS says it
  bool operator==(const Forward&) const = default;
};

// The argument of -L, -D or -R as OpenSSH 9.2 takes it: fields apart by colons, the literal ones in brackets,
// \ before a character that stands for itself, ${NAME} of the environment, services' names for ports. Its
// tokens (%h) only ssh expands; what `ssh -G` prints has them expanded. What ssh makes of odd arguments holds
// here too: -R without a target is kRemoteDynamic, and -D with a socket for a target is kLocal.
// REQUIRES: kind is not kRemoteDynamic.
std::optional<Forward> parse_forward(Forward::Kind kind, std::string_view argument);

// The argument of -W, host:port.
std::optional<ForwardEnd> parse_stdio_forward(std::string_view argument);

// All that was asked for, on the command line and in the configuration, as `ssh -G` prints it. Nothing where a
// line is not to be understood (a path with a blank, which ssh does not quote, may make two of one).
// ssh prints -L to a host named "socks" as -D; so it is taken here.
std::optional<std::vector<Forward>> configured_forwards(const SshConfig& config);

}  // namespace mcdtp
