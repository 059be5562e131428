#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/core/types.h"
#include "tests/wan/path.h"

namespace mcdtp::wan {

// How long after their due time packets were delivered, in steps of 10 us up to 100 ms.
class Lateness {
 public:
  void add(Duration late);
  void add(const Lateness& other);
  // That share of the packets was no later than this (100 ms stands for all above); zero where there were
  // none.
  Duration quantile(double share) const;
  Duration max() const { return max_; }

 private:
  static constexpr Duration kStep = microseconds(10);
  std::array<std::uint64_t, 10001> counts_{};
  Duration max_{};
};

// What happened in one direction. in_packets is the sum of `packets`.
struct Statistics {
  std::uint64_t in_packets = 0;
  std::uint64_t in_bytes = 0;
  std::array<std::uint64_t, kCauses> packets{};
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t delivered_packets = 0;  // duplicates included; what is in flight at the end is not
  std::uint64_t delivered_bytes = 0;
  std::uint64_t refused = 0;   // due, but the far device was down
  std::uint64_t overruns = 0;  // lost before the link saw them: should be 0
  std::uint64_t uncut = 0;     // trains dropped because the link cannot cut them: should be 0
  std::uint64_t reads = 0;     // of packets or trains
  std::uint64_t writes = 0;    // of packets, or of several joined
  Duration cpu_time{};         // of this direction's thread, with what the far host's kernel does to receive
  Lateness lateness;
};

// `key=value` words, each key with the direction in front: up_in=12 up_in_bytes=3456 ...
std::string describe(const std::string& direction, const Statistics& statistics);

}  // namespace mcdtp::wan
