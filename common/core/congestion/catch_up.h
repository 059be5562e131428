#pragma once

#include <algorithm>
#include <utility>

#include "common/core/congestion/congestion.h"

namespace mcdtp {

// For how much of a time for which our host stood still what was due in it is sent at once. The path's queue was empty by
// then, and takes as much as it is long, which is not known: with each round that missed more somewhat more is tried; where
// that is lost seven eighths of what was sent are left, and are the most for a while.
class CatchUp {
 public:
  static constexpr Duration kMost = milliseconds(100);

  // `usual`: what is always made up for.
  Duration get(Duration usual) const { return std::max(usual, more_); }
  // A round in which more was missed than was made up for. `overflows`: more of it is lost than the path loses by itself.
  void on_round_that_missed(Time now, Duration usual, bool overflows) {
    const Duration last = get(usual);
    const bool is_of_last = std::exchange(was_cut_, false);
    if (!overflows) {
      grown_from_ = last;
      more_ = std::min(last * 9 / 8, now < ceiling_until_ ? ceiling_ : kMost);
    } else if (last > usual && !is_of_last) {
      was_cut_ = true;
      ceiling_ = grown_from_ * 7 / 8;
      ceiling_until_ = now + kKept;
      more_ = grown_from_ = ceiling_;
    }
  }

 private:
  static constexpr Duration kKept = seconds(10);

  Duration more_{};
  Duration grown_from_{};  // losses of the burst before are known in the round that grew
  bool was_cut_ = false;   // in the last such round, some of whose losses are known in the next
  Duration ceiling_{};
  Time ceiling_until_{};
};

}  // namespace mcdtp
