#pragma once

#include <array>

#include "common/core/types.h"

namespace mcdtp {

// By how much the RTT of a channel moves at once: the mean difference of a sample and the last but one before it. Unlike RFC
// 9002's rttvar, whose mean is some rounds old, it says little of a queue that grows or falls for a round or more.
class QuickVariation {
 public:
  void on_sample(Duration rtt) {
    if (!has_sample_) {
      has_sample_ = true;
      last_ = {rtt, rtt};
      variation_ = rtt / 2;
      return;
    }
    variation_ = (3 * variation_ + std::chrono::abs(rtt - last_[1])) / 4;
    last_ = {rtt, last_[0]};
  }
  // As rttvar where there is one sample.
  Duration get() const { return variation_; }

 private:
  bool has_sample_ = false;
  std::array<Duration, 2> last_{};  // the newest first
  Duration variation_{};
};

}  // namespace mcdtp
