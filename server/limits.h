#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/types.h"
#include "server/options.h"

namespace mcdtp {

// What the administrator of a host lets its servers have. A client can only ask for less.
struct Limits {
  std::optional<PortRange> ports;             // to listen on; unset: any that is asked for
  std::optional<std::uint64_t> rate_bps;      // bits of payload a second that a server sends at most; > 0
  std::optional<std::uint64_t> memory_bytes;  // from kMinMemory on
  bool forwards = true;                       // may ports be forwarded?
  std::optional<GatewayPorts> gateway_ports;  // unset: kNo
};

// Reads `text`, a keyword and its value on a line. Throws a sentence with `path` and the line for a bad one. Pure.
Limits parse_limits(std::string_view text, const std::string& path);

// The file's limits; none where `may_lack` and there is no such file. Throws a sentence.
Limits read_limits(const std::string& path, bool may_lack);

// Both hold. Throws where no port is left.
Limits tighter(const Limits& one, const Limits& other);

// Who may only run what is forced chooses no ports and no memory beyond what a server takes by itself, unless the
// administrator says which. Pure.
Limits limits_where_forced(Limits limits);

// A range of the client's that lies elsewhere is replaced; all else becomes what is less. Pure.
void apply_limits(const Limits& limits, ServerOptions& options);

}  // namespace mcdtp
