#pragma once

#include <algorithm>
#include <cmath>

#include "common/core/types.h"

namespace mcdtp {

// A token bucket that lets packets go in short trains.
// Guarantee: bytes sent in [t0, t1] <= rate x (t1 - t0) + depth() + one packet.
// A closed bucket opens again only when a whole quantum is in, so that a wake-up sends a train, not a packet.
class Pacer {
 public:
  static constexpr Duration kLeastLateness = microseconds(200);
  static constexpr Duration kMostLateness = milliseconds(2);

  // Bytes per second, > 0; infinity means no pacing.
  void set_rate(Time now, double rate) {
    refill(now);
    rate_ = rate;
  }
  // Bytes let go at one wake-up, at least.
  void set_quantum(double bytes) { quantum_ = bytes; }

  bool may_send(Time now) {
    refill(now);
    if (unpaced()) return true;
    open_ = open_ ? tokens_ > 0 : tokens_ >= quantum_;
    return open_;
  }
  void on_sent(std::size_t bytes) {
    if (!unpaced()) tokens_ -= static_cast<double>(bytes);
  }
  // When may_send() turns true, if it is not.
  Time ready_at() const {
    if (unpaced() || tokens_ >= quantum_) return last_;
    // Rounded up: a wake-up that comes a nanosecond early would find nothing to do.
    return last_ + from_seconds((quantum_ - tokens_) / rate_) + microseconds(1);
  }
  // A wake-up may be so late without loss of rate, from kLeastLateness to kMostLateness. What was missed then goes at once:
  // on a short path, with its short queues, that must not be much.
  void set_lateness(Duration lateness) {
    lateness_ = to_seconds(std::clamp(lateness, kLeastLateness, kMostLateness));
  }
  double depth() const { return quantum_ + rate_ * lateness_; }

 private:
  bool unpaced() const { return std::isinf(rate_); }
  // Without a pace there is nothing to save up.
  void refill(Time now) {
    if (now > last_ && !unpaced()) tokens_ = std::min(depth(), tokens_ + rate_ * to_seconds(now - last_));
    last_ = std::max(now, last_);
  }

  double rate_ = 1e6;
  double quantum_ = 2400;
  double tokens_ = 2400;
  double lateness_ = to_seconds(kMostLateness);
  bool open_ = true;
  Time last_{};
};

}  // namespace mcdtp
