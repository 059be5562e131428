#include "tests/wan/firewall.h"

#include "tests/wan/ip.h"

namespace mcdtp::wan {

void Firewall::note_out(MutableBytes bytes) {
  const auto udp = udp_of(bytes);
  if (!udp) return;
  const std::lock_guard lock(mutex_);
  seen_.insert({is_ipv6(bytes), load16(udp->data() + kUdpDestinationAt), load16(udp->data() + kUdpSourceAt)});
}

bool Firewall::lets_in(MutableBytes bytes) {
  const auto udp = udp_of(bytes);
  if (!udp) return true;
  const std::lock_guard lock(mutex_);
  return seen_.contains(
      {is_ipv6(bytes), load16(udp->data() + kUdpSourceAt), load16(udp->data() + kUdpDestinationAt)});
}

}  // namespace mcdtp::wan
