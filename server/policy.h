#pragma once

#include <string>
#include <variant>

#include "common/core/target.h"

namespace mcdtp {

// Where a client may have us listen, after sshd_config(5): the tighter first.
enum class GatewayPorts {
  kNo,               // on the loopback alone
  kClientSpecified,  // where it asks us to
  kYes,              // on all addresses, wherever it asks us to
};

// What the administrator of this host lets clients do with forwarded ports. The defaults are sshd's.
struct Policy {
  bool local_forwards = true;   // connections that the client has us make: -L, -D, -W
  bool remote_forwards = true;  // ports that the client has us listen on: -R
  GatewayPorts gateway_ports = GatewayPorts::kNo;
};

// May this forward be? What is no forward that a client can ask for may not.
inline bool permits(const Policy& policy, const Target& target) {
  if (std::holds_alternative<ToTcp>(target) || std::holds_alternative<ToUnix>(target))
    return policy.local_forwards;
  if (std::holds_alternative<Forwarded>(target)) return false;
  return policy.remote_forwards;
}

// Where to listen for a port that the client asked for at `asked`, as sshd decides it; both as listen_addresses() takes
// them.
inline std::string listen_address(GatewayPorts gateway_ports, const std::string& asked) {
  if (gateway_ports == GatewayPorts::kYes) return "";
  const bool one_loopback = asked == "127.0.0.1" || asked == "::1";
  return gateway_ports == GatewayPorts::kClientSpecified || one_loopback ? asked : "localhost";
}

}  // namespace mcdtp
