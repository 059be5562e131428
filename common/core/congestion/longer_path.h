#pragma once

#include "common/core/congestion/path_loss.h"
#include "common/core/congestion/same_rtt.h"

namespace mcdtp {

// Whether what looks like a queue of others is a path that has become longer: their queue moves, and the path's own RTT does
// not. Nor does more get lost than the path loses by itself, as in a queue that many keep full. It is asked when so little has
// been sent for some rounds that nothing of the queue is ours, or when it has not fallen with what was sent.
// Losses are shares of what was sent.
class LongerPath {
 public:
  // `own_loss`: what the path loses by itself, as was known until now.
  void begin(double own_loss) {
    *this = {};
    most_loss_ = kVague * own_loss + PathLoss::kMargin;
  }
  bool loses_more(double loss) const { return loss > most_loss_; }
  // The smallest RTT then, and what is lost of late.
  void note(Duration rtt, double loss) {
    if (loses_more(loss)) return rtts_.forget();
    rtts_.note(rtt);
  }
  // It was the same again and again, and well above `min_rtt`, the smallest of late.
  bool is_sure(Duration min_rtt) const { return rtts_.times() >= kTimes && rtts_.is_above(min_rtt); }
  // REQUIRES: is_sure().
  Duration rtt() const { return rtts_.least(); }
  // It was the same twice: that may be chance, and is to be looked at soon.
  bool is_likely() const { return rtts_.times() == kTimes - 1; }

 private:
  static constexpr int kTimes = 3;
  static constexpr double kVague = 2;  // the path's own loss is known no better than by this factor

  SameRtt rtts_{milliseconds(1), 64};
  double most_loss_ = PathLoss::kMargin;
};

}  // namespace mcdtp
