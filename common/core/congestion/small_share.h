#pragma once

#include <algorithm>

namespace mcdtp {

// Who knows from the trains of its start-up what the path can do, and has less than half of that, shares it with others, and
// sends a little faster than what keeps the queue as it is: so that these, who see the queue grow, give way. By their targets
// alone two would become alike in hundreds of rounds where an RTT is long beside the queue. Not where so many share the path
// that each has little of it.
class SmallShare {
 public:
  // The start-up is over. `capacity`: what trains have said of the path, bytes/s; 0: nothing.
  void begin(double capacity) { capacity_ = capacity; }
  // A slower round has shown that hardly any of the queue is of others: the path can do less than it did.
  void end() { capacity_ = 0; }

  // A round at `rate` (bytes/s) has shown a queue: by how much to be faster in the next, as a share of the rate. What the
  // trains said is believed less and less, for the path may become another.
  double next(double rate) {
    capacity_ *= kFades;
    if (capacity_ <= 0 || rate < kLeast * capacity_) return 0;
    return std::clamp(kSlope * (kHalf - rate / capacity_), 0.0, kMost);
  }

 private:
  static constexpr double kFades = 0.997;
  static constexpr double kLeast = 0.2;  // of what the path can do
  static constexpr double kHalf = 0.42;  // likewise; a rate and what trains say are not that exact
  static constexpr double kSlope = 0.5;
  static constexpr double kMost = 0.05;

  double capacity_ = 0;  // bytes/s
};

}  // namespace mcdtp
