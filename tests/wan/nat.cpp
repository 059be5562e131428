#include "tests/wan/nat.h"

#include <algorithm>

#include "tests/wan/ip.h"

namespace mcdtp::wan {
namespace {

// RFC 1624: the checksum of what has `now` where it had `before`.
std::uint16_t adjust(std::uint16_t checksum, std::uint16_t before, std::uint16_t now) {
  std::uint32_t sum = std::uint32_t{0xffff} - checksum + (0xffffu - before) + now;
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  const auto result = static_cast<std::uint16_t>(~sum);
  // UDP: zero would say that there is none.
  return result == 0 ? 0xffff : result;
}

// An open checksum has no port in it yet.
void set_port(const OffloadHeader& offload, MutableBytes udp, std::size_t at, std::uint16_t port) {
  const std::uint16_t checksum = load16(udp.data() + kUdpChecksumAt);
  const bool open = (offload.flags & OffloadHeader::kNeedsChecksum) != 0;
  if (!open && checksum != 0)
    store16(udp.data() + kUdpChecksumAt, adjust(checksum, load16(udp.data() + at), port));
  store16(udp.data() + at, port);
}

}  // namespace

std::uint16_t Nat::map_out(Time now, bool ipv6, std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  forget(now);
  auto found = std::find_if(live_.begin(), live_.end(),
                            [&](const Mapping& m) { return m.ipv6 == ipv6 && m.inside == port; });
  if (found == live_.end()) {
    ++made_;
    live_.push_back({ipv6, port, free_port(), now});
    found = live_.end() - 1;
  }
  found->last_use = now;
  return found->outside;
}

std::optional<std::uint16_t> Nat::map_in(Time now, bool ipv6, std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  forget(now);
  const auto found = std::find_if(live_.begin(), live_.end(),
                                  [&](const Mapping& m) { return m.ipv6 == ipv6 && m.outside == port; });
  if (found == live_.end()) return std::nullopt;
  found->last_use = now;
  return found->inside;
}

void Nat::translate_out(Time now, const OffloadHeader& offload, MutableBytes bytes) {
  const auto udp = udp_of(bytes);
  if (!udp) return;
  const std::uint16_t port = load16(udp->data() + kUdpSourceAt);
  set_port(offload, *udp, kUdpSourceAt, map_out(now, is_ipv6(bytes), port));
}

bool Nat::translate_in(Time now, const OffloadHeader& offload, MutableBytes bytes) {
  const auto udp = udp_of(bytes);
  if (!udp) return true;
  const auto port = map_in(now, is_ipv6(bytes), load16(udp->data() + kUdpDestinationAt));
  if (port) set_port(offload, *udp, kUdpDestinationAt, *port);
  return port.has_value();
}

void Nat::forget(Time now) {
  std::erase_if(live_, [&](const Mapping& m) { return now - m.last_use > forget_after_; });
}

std::uint16_t Nat::free_port() {
  const auto taken = [this](std::uint16_t port) {
    return std::any_of(live_.begin(), live_.end(), [port](const Mapping& m) { return m.outside == port; });
  };
  std::uint16_t port;
  do {
    port = next_port_;
    next_port_ = port == 65535 ? kFirstPort : static_cast<std::uint16_t>(port + 1);
  } while (taken(port));
  return port;
}

}  // namespace mcdtp::wan
