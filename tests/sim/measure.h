#pragma once

#include "tests/sim/world.h"

namespace mcdtp::sim {

// One link and how it is used; the same each way.
struct Path {
  double mbps = 100;
  double delay_ms = 25;  // one way
  double loss = 0;       // each way
  double queue = 1;      // in rate x RTT, but at least `least_queue`
  unsigned channels = 8;
  double police_mbps = 0;
  double loss_burst = 1;  // mean length of a run of losses
  double jitter_ms = 0;
  double wander_ms = 0;  // see LinkSettings
  double wander_pace_ms = 50;
  double stall_ms = 0;       // once in 10 s, see LinkSettings
  double host_stall_ms = 0;  // of each host, see WorldSettings::Stalls
  double host_between_ms = 100;
  std::uint64_t least_queue = 64 * 1024;          // bytes
  std::uint64_t memory = std::uint64_t{1} << 30;  // the default of hosts of 16 GiB
};

LinkSettings link_of(const Path& path);
WorldSettings world_of(const Path& path);
// Payload in bytes/s that the path carries at most.
double limit_of(const Path& path);

// What one stream up made of the path.
struct Measured {
  double whole = 0;   // share of the limit in `duration`, the start included
  double later = 0;   // ... after max(2 s, 16 RTT)
  double excess = 0;  // bytes sent beyond those that the transfer needs on this link, as a share of these
  double queue = 0;   // mean share of the link's queue in use, after the start
  std::uint64_t sent = 0;      // packets
  std::uint64_t lost = 0;      // ... declared lost,
  std::uint64_t spurious = 0;  // wrongly
  bool intact = false;         // all bytes came, as they were sent
};
// Sends without end for `duration`, then ends the stream and waits until all of it has come.
Measured measure(const Path& path, Duration duration, const std::string& congestion = "auto");

// One session among several that cross the same link.
struct Rival {
  std::string congestion = "auto";
  double access_ms = 0;  // one way, before the link, its own
  Duration begins{};
};
struct Shares {
  std::vector<double> of;  // of each rival, share of the link's limit
  double queue = 0;        // mean share of the link's queue in use
  // Jain's index: 1 when all have the same, 1/n when one has all.
  double fairness() const;
};
// What each got between `from` and `until`.
Shares share_link(const Path& path, const std::vector<Rival>& rivals, Duration from, Duration until);

}  // namespace mcdtp::sim
