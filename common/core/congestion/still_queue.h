#pragma once

#include <algorithm>

#include "common/core/types.h"

namespace mcdtp {

// Whether what looks like a queue, longer than we would leave one, is none: our part of one falls with what we send, and that
// of others does not rise just as fast. It has not moved at all for some rounds, although we gave way: the path has become
// longer.
class StillQueue {
 public:
  void forget() { rounds_ = 0; }
  // The smallest RTT of a round, and what the path took from us then, in bytes/s.
  void on_round(Duration rtt, double rate) {
    if (moves(rtt)) forget();
    const bool is_first = rounds_++ == 0;
    least_ = is_first ? rtt : std::min(least_, rtt);
    most_ = is_first ? rtt : std::max(most_, rtt);
    largest_rate_ = is_first ? rate : std::max(largest_rate_, rate);
    gave_way_ = rate < kGivesWay * largest_rate_;
  }
  bool is_none() const { return rounds_ >= kRounds && gave_way_; }
  // REQUIRES: is_none().
  Duration rtt() const { return least_; }

 private:
  static constexpr int kRounds = 6;
  static constexpr double kGivesWay = 0.7;

  bool moves(Duration rtt) const {
    const Duration least = std::min(least_, rtt);
    return std::max(most_, rtt) - least > microseconds(500) + least / 128;
  }

  int rounds_ = 0;           // in a row that it did not move,
  Duration least_{};         // the smallest of their RTTs,
  Duration most_{};          // the largest,
  double largest_rate_ = 0;  // and their largest rate, bytes/s
  bool gave_way_ = false;
};

}  // namespace mcdtp
