#pragma once

#include <algorithm>

#include "common/core/congestion/same_rtt.h"

namespace mcdtp {

// Whether what looks like a queue, longer than we would leave one, is none: our part of one falls with what we send, and that
// of others does not rise just as fast. It has not moved at all for some rounds, although we gave way: the path has become
// longer.
class StillQueue {
 public:
  void forget() { rtts_.forget(); }
  // The smallest RTT of a round, and what the path took from us then, in bytes/s.
  void on_round(Duration rtt, double rate) {
    rtts_.note(rtt);
    largest_rate_ = rtts_.times() == 1 ? rate : std::max(largest_rate_, rate);
    gave_way_ = rate < kGivesWay * largest_rate_;
  }
  bool is_none() const { return rtts_.times() >= kRounds && gave_way_; }
  // REQUIRES: is_none().
  Duration rtt() const { return rtts_.least(); }

 private:
  static constexpr int kRounds = 6;
  static constexpr double kGivesWay = 0.7;

  SameRtt rtts_{microseconds(500), 128};
  double largest_rate_ = 0;  // bytes/s, of the rounds in a row that it did not move
  bool gave_way_ = false;
};

}  // namespace mcdtp
