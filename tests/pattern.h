#pragma once

#include <algorithm>
#include <array>
#include <random>

#include "common/core/bytes.h"
#include "common/core/types.h"

namespace mcdtp {

// What tests write into streams: at each offset of each stream one certain byte, of a table whose length, a prime, no
// packet or block divides. What is left out, doubled, or put at another offset or into another stream shows.

// As many of the bytes from `offset` on as the table has in one piece, `most` at most.
inline Bytes pattern(StreamId id, std::uint64_t offset, std::size_t most) {
  static const auto table = [] {
    std::array<std::uint8_t, 65521> bytes;
    std::mt19937 random(1);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(random()); });
    return bytes;
  }();
  const std::size_t begin = (offset + id * 7919) % table.size();
  return Bytes(table).subspan(begin, std::min(most, table.size() - begin));
}

// Both move `offset` on by all that they are given.
inline void write_pattern(MutableBytes room, StreamId id, std::uint64_t& offset) {
  while (!room.empty()) {
    const Bytes part = pattern(id, offset, room.size());
    std::copy(part.begin(), part.end(), room.begin());
    offset += part.size();
    room = room.subspan(part.size());
  }
}

inline bool is_pattern(Bytes bytes, StreamId id, std::uint64_t& offset) {
  bool is_same = true;
  while (!bytes.empty()) {
    const Bytes part = pattern(id, offset, bytes.size());
    is_same = std::equal(part.begin(), part.end(), bytes.begin()) && is_same;
    offset += part.size();
    bytes = bytes.subspan(part.size());
  }
  return is_same;
}

}  // namespace mcdtp
