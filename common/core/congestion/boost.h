#pragma once

#include <algorithm>
#include <cmath>

namespace mcdtp {

// Who has seen a queue well below its target for some rounds sends less than its share, and takes a larger step now and
// then: what is missing of the queue, in one round; and more each time that this was not enough, for who has a small share
// of the link adds but that share of it to the queue.
class Boost {
 public:
  // All but the last in seconds.
  struct Round {
    double target = 0;        // > 0
    double queue = 0;         // what waited in the last round
    double unrest = 0;        // what of the waiting was taken for the path's own
    double length = 0;        // of a round, > 0
    bool loses_more = false;  // than the path does by itself: the buffer may hold no more
  };

  // By how much the next round's pace is to be above the rate, as a share of it; 0: not at all.
  double next(const Round& round) {
    const bool is_small = round.queue > kHardlyAny * round.target && round.queue < kSmall * round.target;
    small_rounds_ = is_small && !round.loses_more ? small_rounds_ + 1 : 0;
    if (round.queue >= kSmall * round.target) unanswered_ = std::max(0, unanswered_ - 1);
    if (small_rounds_ < kSmallRounds) return 0;
    small_rounds_ = 0;
    const double missing = kOver * std::pow(kGrowth, unanswered_) * (round.target - round.queue);
    unanswered_ = std::min(unanswered_ + 1, kMostUnanswered);
    return std::min(kMost * (1 - round.queue / round.target), (missing + round.unrest) / round.length);
  }

 private:
  static constexpr double kHardlyAny = 0.1;  // of the target: none
  static constexpr double kSmall = 0.85;     // of the target: a queue for who sends less than its share
  static constexpr int kSmallRounds = 3;
  static constexpr double kOver = 1.2;  // times what is missing
  static constexpr double kGrowth = 4;
  static constexpr int kMostUnanswered = 6;
  static constexpr double kMost = 0.7;  // of the rate, where there is next to no queue

  int small_rounds_ = 0;  // in a row, with a queue well below the target
  int unanswered_ = 0;    // steps that have not brought the queue to its target
};

}  // namespace mcdtp
