#pragma once

#include <algorithm>

#include "common/core/types.h"

namespace mcdtp {

// How often in a row an RTT was the same, but for `fixed` and 1 / `part` of the smallest.
class SameRtt {
 public:
  SameRtt(Duration fixed, int part) : fixed_(fixed), part_(part) {}

  void forget() { times_ = 0; }
  void note(Duration rtt) {
    const Duration least = std::min(least_, rtt), most = std::max(most_, rtt);
    const bool is_same = times_ > 0 && most - least <= alike(least);
    least_ = is_same ? least : rtt;
    most_ = is_same ? most : rtt;
    times_ = is_same ? times_ + 1 : 1;
  }
  int times() const { return times_; }
  // The smallest of them. REQUIRES: times() > 0.
  Duration least() const { return least_; }
  // An RTT that is longer than `other` by more than what makes no difference. REQUIRES: times() > 0.
  bool is_above(Duration other) const { return least_ - other > alike(least_); }

 private:
  Duration alike(Duration rtt) const { return fixed_ + rtt / part_; }

  Duration fixed_;
  int part_;
  int times_ = 0;
  Duration least_{};
  Duration most_{};
};

}  // namespace mcdtp
