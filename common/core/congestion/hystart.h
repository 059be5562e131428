#pragma once

#include <algorithm>
#include <utility>

#include "common/core/types.h"

namespace mcdtp {

// Ends a slow start before it overflows the queue: HyStart++ (RFC 9406 section 4). A round whose smallest RTT
// is clearly above that of the round before makes the growth a quarter; after kCautiousRounds of that the slow
// start is done, unless an RTT shows that it was no queue.
class HyStart {
 public:
  static constexpr int kCautiousRounds = 5;
  // The RFC wants eight of single packets; a report's is that of the newest of many, and there are four reports
  // a round trip.
  static constexpr int kSamples = 3;

  void on_rtt(Duration rtt) {
    current_ = std::min(current_, rtt);
    if (++samples_ < kSamples) return;
    if (cautious_) {
      if (current_ < baseline_) cautious_ = false;
    } else if (last_ != kNone && current_ >= last_ + threshold()) {
      cautious_ = true;
      rounds_ = 0;
      baseline_ = current_;
    }
  }
  void end_round() {
    if (cautious_) ++rounds_;
    last_ = std::exchange(current_, kNone);
    samples_ = 0;
  }

  // By how much of what is covered the window grows.
  double growth() const { return cautious_ ? 0.25 : 1; }
  bool done() const { return cautious_ && rounds_ >= kCautiousRounds; }

 private:
  static constexpr Duration kNone = Duration::max();

  Duration threshold() const { return std::clamp<Duration>(last_ / 8, milliseconds(4), milliseconds(16)); }

  Duration last_ = kNone;      // the smallest RTT of the round before
  Duration current_ = kNone;   // ... and of this one
  Duration baseline_ = kNone;  // ... and of that which made us cautious
  int samples_ = 0;            // of this round
  int rounds_ = 0;             // ended since we are cautious
  bool cautious_ = false;
};

}  // namespace mcdtp
