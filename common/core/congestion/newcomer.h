#pragma once

#include <algorithm>
#include <limits>

namespace mcdtp {

// Who has just come, and has little, to a queue far longer than it wishes for, although it sends no more than comes through,
// leaves it to those who were there before to give way: did all alike, each would keep its part for long. For kRounds at most,
// and no longer where nobody gives way: where a slower round has shown the queue to be all its own, where the queue grows, or
// has not fallen in kPatience rounds.
class Newcomer {
 public:
  // A round after the start-up is over. `is_alone`: it has shown that hardly any of the queue is of others.
  void on_round(bool is_alone) { rounds_ = is_alone ? kRounds + 1 : std::min(rounds_ + 1, kRounds + 1); }

  // Whether to hold the rate for the next round, where `queue` (s) is far too long.
  bool waits(double queue) {
    if (queue < kFalls * shortest_) {
      shortest_ = queue;
      unmoved_ = 0;
    }
    grown_ = queue > kGrows * shortest_ ? grown_ + 1 : 0;
    if (++unmoved_ > kPatience || grown_ > 1) rounds_ = kRounds + 1;
    return rounds_ <= kRounds;
  }

 private:
  static constexpr int kRounds = 16;
  static constexpr int kPatience = 6;
  static constexpr double kFalls = 0.9;  // times the shortest
  static constexpr double kGrows = 1.5;  // likewise

  int rounds_ = 0;
  int unmoved_ = 0;  // rounds since it fell last
  int grown_ = 0;    // rounds in a row that found it much longer: one may be the first after a slower one
  double shortest_ = std::numeric_limits<double>::infinity();  // s, of the queues waited for
};

}  // namespace mcdtp
