#pragma once

#include <string_view>
#include <variant>

#include "common/core/target.h"

namespace mcdtp {

// What the administrator of this host lets clients do with forwarded ports. The defaults are sshd's.
struct Policy {
  bool local_forwards = true;   // connections that the client has us make: -L, -D, -W
  bool remote_forwards = true;  // ports that the client has us listen on: -R
  bool gateway_ports = false;   // those may be other than the loopback's
};

// May this forward be? What is no forward that a client can ask for may not.
inline bool permits(const Policy& policy, const Target& target) {
  if (std::holds_alternative<ToTcp>(target) || std::holds_alternative<ToUnix>(target))
    return policy.local_forwards;
  if (std::holds_alternative<Forwarded>(target)) return false;
  return policy.remote_forwards;
}

}  // namespace mcdtp
