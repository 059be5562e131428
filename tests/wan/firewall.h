#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <tuple>

#include "common/core/types.h"

namespace mcdtp::wan {

// A firewall before the far host that keeps state, for UDP alone: a datagram comes in only where the far host has sent one
// the other way between the same two ports before. What is no UDP passes. Both directions may call it at once.
class Firewall {
 public:
  // A packet or train, as it is read from a device, on its way to the near host.
  void note_out(MutableBytes bytes);
  // ... and to the far host.
  bool lets_in(MutableBytes bytes);

 private:
  // Of IPv4 and IPv6 apart: the near host's port and the far host's.
  using Ports = std::tuple<bool, std::uint16_t, std::uint16_t>;

  std::mutex mutex_;
  std::set<Ports> seen_;
};

}  // namespace mcdtp::wan
