#pragma once

#include <cstdint>
#include <optional>

#include "common/core/types.h"

namespace mcdtp {

// A packet is the header, then frames, then the tag; sizes in bytes. See mcdtp-protocol(7).
inline constexpr std::size_t kHeaderSize = 11;
inline constexpr std::size_t kTagSize = 16;
// What a sealed packet is longer than its frames.
inline constexpr std::size_t kSealOverhead = kHeaderSize + kTagSize;

// Stands in clear before the frames, and is authenticated with them.
struct PacketHeader {
  std::uint8_t flags = 0;
  ChannelId channel = 0;
  PacketNumber number = 0;
  bool operator==(const PacketHeader&) const = default;
};

// Writes the first kHeaderSize bytes. REQUIRES: the packet has them.
void encode_header(const PacketHeader& header, MutableBytes packet);
// Reads the first kHeaderSize bytes; unset where there are fewer.
[[nodiscard]] std::optional<PacketHeader> decode_header(Bytes packet);

}  // namespace mcdtp
