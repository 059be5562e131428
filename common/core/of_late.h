#pragma once

#include <array>
#include <functional>

#include "common/core/types.h"

namespace mcdtp {

// The extreme value of late: of the half of a life that is running and of the whole half before it, so that a value
// counts for half a life at least and for a whole one at most, as long as time is told. Compare says which of two is
// the more extreme one; `none` is less so than any.
template <typename Value, typename Compare>
class OfLate {
 public:
  OfLate(Duration life, Value none) : life_(life), none_(none), halves_{none, none} {}

  // What is noted from here on is as late as `now`.
  void tell_time(Time now) {
    if (now - half_began_ <= life_ / 2) return;
    halves_ = {none_, halves_[0]};
    half_began_ = now;
  }
  void note(Value value) {
    if (Compare()(value, halves_[0])) halves_[0] = value;
  }
  // `none` where nothing was noted.
  Value get() const { return Compare()(halves_[0], halves_[1]) ? halves_[0] : halves_[1]; }

 private:
  Duration life_;
  Value none_;
  std::array<Value, 2> halves_;  // the one that is running, and the one before
  Time half_began_{};
};

template <typename Value>
using SmallestOfLate = OfLate<Value, std::less<Value>>;
template <typename Value>
using LargestOfLate = OfLate<Value, std::greater<Value>>;

}  // namespace mcdtp
