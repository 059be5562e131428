#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common/core/types.h"

// What several parts of the link read and write in the headers of a packet, or of a train, that a host sent.
namespace mcdtp::wan {

inline constexpr std::size_t kIpv6HeaderSize = 40;
inline constexpr std::size_t kUdpHeaderSize = 8;
inline constexpr std::size_t kUdpSourceAt = 0, kUdpDestinationAt = 2, kUdpChecksumAt = 6;  // in the header
inline constexpr std::uint8_t kTcpNumber = 6;
inline constexpr std::uint8_t kUdpNumber = 17;

inline std::uint16_t load16(const std::uint8_t* from) {
  return static_cast<std::uint16_t>(from[0] << 8 | from[1]);
}

inline void store16(std::uint8_t* to, std::uint64_t value) {
  to[0] = static_cast<std::uint8_t>(value >> 8);
  to[1] = static_cast<std::uint8_t>(value);
}

inline bool is_ipv6(Bytes packet) { return !packet.empty() && packet[0] >> 4 == 6; }

// Of IPv4 with its options, of IPv6 without extensions; at most the packet's size.
inline std::size_t ip_header_size(Bytes packet) {
  if (packet.empty()) return 0;
  const std::size_t size = is_ipv6(packet) ? kIpv6HeaderSize : std::size_t{4} * (packet[0] & 15);
  return std::min(size, packet.size());
}

inline std::uint8_t protocol_number(Bytes packet) {
  const std::size_t at = is_ipv6(packet) ? 6 : 9;
  return packet.size() > at ? packet[at] : 0;
}

// From the UDP header on; none where there is none, as in all fragments of a packet but the first.
inline std::optional<MutableBytes> udp_of(MutableBytes packet) {
  const std::size_t ip = ip_header_size(packet);
  if (protocol_number(packet) != kUdpNumber || packet.size() < ip + kUdpHeaderSize) return std::nullopt;
  if (!is_ipv6(packet) && (load16(packet.data() + 6) & 0x1fff) != 0) return std::nullopt;
  return packet.subspan(ip);
}

}  // namespace mcdtp::wan
