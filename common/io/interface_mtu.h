#pragma once

#include <cstddef>
#include <optional>

#include "common/io/endpoint.h"

namespace mcdtp {

// The MTU, in bytes of IP packet, of the interface by which packets to `to` leave. The interface's own, not what the
// kernel keeps of ICMP messages: anyone can forge those. Nothing where there is no way or no telling.
std::optional<std::size_t> interface_mtu(const Endpoint& to);

// What of it is left for UDP payload; `to` says which IP.
std::size_t udp_payload(std::size_t mtu, const Endpoint& to);

}  // namespace mcdtp
