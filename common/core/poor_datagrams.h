#pragma once

#include <cstdint>

#include "common/core/types.h"

namespace mcdtp {

// Whether so many of our datagrams are lost as hardly any path loses by itself: a network that throttles UDP, or drops it,
// may carry TCP well. Judged by spans in which enough of them was decided on: two in a row above kPoor make them poor, one
// below kFair makes them fair again. They are fair at first.
class PoorDatagrams {
 public:
  static constexpr double kPoor = 0.2;
  static constexpr double kFair = 0.1;
  static constexpr Duration kSpan = seconds(2);
  static constexpr std::uint64_t kLeast = 100 * kMinDatagram;  // bytes decided on in a span

  // So many bytes more have arrived, and so many were declared lost; `found`: of those that were, wrongly.
  void note(Time now, std::uint64_t arrived, std::uint64_t lost, std::uint64_t found) {
    if (decided_ == 0) began_ = now;
    decided_ += arrived + lost;
    lost_ += static_cast<std::int64_t>(lost) - static_cast<std::int64_t>(found);
    if (now - began_ < kSpan || decided_ < kLeast) return;
    judge(static_cast<double>(lost_) / static_cast<double>(decided_));
    decided_ = 0;
    lost_ = 0;
  }
  bool are_poor() const { return poor_; }

 private:
  void judge(double share) {
    const bool above = share >= kPoor;
    poor_ = (poor_ && share >= kFair) || (above && suspected_);
    suspected_ = above;
  }

  bool poor_ = false;
  bool suspected_ = false;     // the span before was above
  Time began_{};               // of this span
  std::uint64_t decided_ = 0;  // in it
  std::int64_t lost_ = 0;
};

}  // namespace mcdtp
