#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "common/core/types.h"
#include "tests/wan/settings.h"

namespace mcdtp::wan {

// A reproducible stream of random numbers (splitmix64): the same seed and direction give the same stream.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t direction);
  std::uint64_t next();
  double share();  // in [0, 1)

 private:
  std::uint64_t state_;
};

// What the link looks at in a packet.
struct PacketShape {
  std::size_t size = 0;            // bytes, with the IP header
  std::size_t ip_header_size = 0;  // options included; at most `size`
  bool udp = false;
  bool unmapped = false;  // the NAT knows no host behind its port, or the firewall nobody who asked for it
};

// The first cause that applies, in this order, is the one counted.
enum class Cause : std::uint8_t {
  kPassed,
  kUnmapped,
  kTooBig,
  kUdpBlocked,
  kCut,
  kPoliced,
  kQueueFull,
  kLost
};
inline constexpr std::size_t kCauses = 8;

// What becomes of one packet.
struct Fate {
  Cause cause = Cause::kPassed;
  Time due{};  // when the far end gets it; meaningful when it passed
  bool duplicated = false;
  bool reordered = false;
  std::optional<std::size_t> flipped_bit;  // counted from the first byte behind the IP header
};

// One direction of the link as arithmetic: no clock, no sockets. Every packet takes the same number of random
// draws whatever happens to it, so the n-th packet of a direction has the same luck in every run of a seed.
//
// A packet waits in a drop-tail queue, takes its size at the link's rate, and only then may be lost: a lost
// packet has used the link like any other. After a rate step, what already waits leaves at the old rate.
//
// A delay that wanders, as a radio link's, goes evenly from one random value to the next, each kWanderPace.
class Path {
 public:
  Path(const PathSettings& settings, Random random, Time start);

  // REQUIRES: `now` never goes back.
  Fate admit(Time now, const PacketShape& packet, bool cut_by_hand, bool udp_blocked_by_hand);

 private:
  // One packet's luck, drawn before anything else is looked at.
  struct Luck {
    double loss, corrupt, duplicate, reorder, jitter;
    std::uint64_t bit;
  };
  struct Waiting {
    Time departure;
    std::size_t size;
  };

  Luck draw();
  Cause judge(Time now, const PacketShape& packet, bool lost, bool cut_by_hand, bool udp_blocked_by_hand);
  bool is_lost(double luck);
  bool is_cut(Time now) const;
  bool police(Time now, std::size_t size);
  bool enqueue(Time now, std::size_t size);
  Time arrival(const Luck& luck, bool reordered);
  Duration wandered(Time at);
  std::optional<double> rate(Time now) const;
  std::uint64_t queue_limit(double bits_per_second) const;

  static constexpr Duration kWanderPace = milliseconds(50);

  PathSettings settings_;
  Random random_;
  Random wander_;
  Time start_;
  Time wander_until_;       // when the delay is at wander_to_,
  double wander_from_ = 0;  // as a share of settings_.wander,
  double wander_to_ = 0;    // from wander_from_ on
  bool in_loss_burst_ = false;
  Time last_departure_;
  Time last_arrival_;  // of packets that were not held back
  std::deque<Waiting> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  double tokens_ = 0;  // bytes that the policer lets pass now
  Time tokens_at_;
};

}  // namespace mcdtp::wan
