#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/core/types.h"

namespace mcdtp {

// A token bucket that lets packets go in short trains.
// Guarantee: bytes sent in [t0, t1] <= rate x (t1 - t0) + depth() + one packet.
// A closed bucket opens again only when a whole quantum is in, so that a wake-up sends a train, not a packet. Who waits for
// that and is woken late, by a host that had no time, has missed what could have gone: it goes at once, as far as it may.
// Who had nothing to send saves up little.
class Pacer {
 public:
  static constexpr double kUnpaced = std::numeric_limits<double>::infinity();
  static constexpr Duration kLeastSaved = microseconds(200);
  static constexpr Duration kMostSaved = milliseconds(2);
  // Bytes that are made up for on any path if they were due in kAlwaysMissedFor: half of a short queue.
  static constexpr double kAlwaysMissed = 32 * 1024;
  static constexpr Duration kAlwaysMissedFor = milliseconds(25);

  // Bytes per second, > 0.
  void set_rate(Time now, double rate) {
    refill(now);
    rate_ = rate;
  }
  // Bytes let go at one wake-up, at least.
  void set_quantum(double bytes) { quantum_ = bytes; }
  std::size_t quantum() const { return static_cast<std::size_t>(quantum_); }

  bool may_send(Time now) {
    refill(now);
    if (unpaced()) return true;
    open_ = open_ ? tokens_ > 0 : tokens_ >= quantum_;
    waits_ = !open_;
    return open_;
  }
  // Whether it was woken so late, since this was last asked, that it missed more than may be made up for.
  bool take_missed() { return std::exchange(has_missed_, false); }
  // Something else holds back: there is nothing to send, or the window is full.
  void stop_waiting() {
    waits_ = has_missed_ = false;
    tokens_ = std::min(tokens_, most_saved());
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
  // What is saved up was due in a part of the RTT, and what was missed in `catch_up`, but in no less: on a short path, with
  // its short queues, that must not be much.
  void set_rtt(Duration rtt, Duration catch_up) {
    const Duration saved = std::clamp<Duration>(rtt / 2, kLeastSaved, kMostSaved);
    saved_ = to_seconds(saved);
    missed_ = to_seconds(std::max(saved, catch_up));
  }
  // Bytes.
  double depth() const {
    return quantum_ +
           std::max(rate_ * missed_, std::min(rate_ * to_seconds(kAlwaysMissedFor), kAlwaysMissed));
  }

 private:
  bool unpaced() const { return std::isinf(rate_); }
  double most_saved() const { return quantum_ + rate_ * saved_; }
  // Without a pace there is nothing to save up.
  void refill(Time now) {
    const Time since = std::exchange(last_, std::max(now, last_));
    if (unpaced()) return;
    const double most = waits_ ? depth() : std::clamp(tokens_, most_saved(), depth());
    const double due = tokens_ + rate_ * to_seconds(last_ - since);
    has_missed_ = has_missed_ || (waits_ && tokens_ <= most && due > most);
    tokens_ = std::min(most, due);
  }

  double rate_ = 1e6;                       // bytes/s
  double quantum_ = 2400;                   // bytes
  double tokens_ = 2400;                    // bytes
  double saved_ = to_seconds(kMostSaved);   // s
  double missed_ = to_seconds(kMostSaved);  // s
  bool open_ = true;
  bool waits_ = false;  // somebody, for it to open
  bool has_missed_ = false;
  Time last_{};
};

}  // namespace mcdtp
