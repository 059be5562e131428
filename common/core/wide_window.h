#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/core/types.h"

namespace mcdtp {

// Whether a pipe that others send on, as ssh does, carries more where more of our bytes are out on it than fill its smallest
// RTT. As a rule these only wait in line, and all else behind them. But where the path below loses packets and mends that, all
// waits for what is sent again, and the smallest RTT is hardly ever seen; and where others keep the path's queue full, their
// share is what we leave. No RTT tells these apart: so it is tried now and then which of both carries more.
class WideWindow {
 public:
  static constexpr double kMuch = 1.25;  // times: less is not worth the wait
  static constexpr Duration kLeastSpan = seconds(1);
  static constexpr int kRounds = 8;  // of a span, at least
  static constexpr Duration kFirstRest = seconds(5);
  static constexpr Duration kLongestRest = seconds(80);

  bool is_on() const { return on_; }

  // Of each report of the pipe. `arrived`: bytes newly covered; `limited`: there was nothing more to send; `rtt`: as it is now.
  void on_report(Time now, std::uint64_t arrived, bool limited, Duration rtt) {
    if (limited) return give_up(now);
    if (counts_from_ == Time{}) count_from(now);
    if (now <= counts_from_) return;
    arrived_ += arrived;
    const Duration passed = now - counts_from_;
    const Duration span = std::max<Duration>(kRounds * rtt, kLeastSpan);
    const double rate = static_cast<double>(arrived_) / to_seconds(passed);
    if (tries_) {
      if (passed >= span || (passed >= span / 2 && is_clear(rate))) end_trial(now, rate, rtt);
    } else if (passed >= span) {
      now >= rests_until_ ? begin_trial(now, rate, rtt) : count_from(now);
    }
  }

 private:
  static constexpr double kByFar = 2;   // times
  static constexpr int kOldRounds = 2;  // in which what was out before arrives

  void count_from(Time from) {
    counts_from_ = from;
    arrived_ = 0;
  }
  void begin_trial(Time now, double rate, Duration rtt) {
    before_ = rate;
    tries_ = true;
    on_ = !on_;
    count_from(now + kOldRounds * rtt);
  }
  void end_trial(Time now, double rate, Duration rtt) {
    const double wide = on_ ? rate : before_, narrow = on_ ? before_ : rate;
    const bool was_on = !on_;
    on_ = wide > kMuch * narrow;
    rest_ = on_ != was_on ? kFirstRest : std::min<Duration>(2 * rest_, kLongestRest);
    rests_until_ = now + rest_;
    tries_ = false;
    count_from(now + kOldRounds * rtt);
  }
  // What is sent says nothing of the pipe.
  void give_up(Time now) {
    if (std::exchange(tries_, false)) on_ = !on_;
    count_from(now);
  }
  bool is_clear(double rate) const { return on_ ? rate > kByFar * before_ : kByFar * rate < before_; }

  bool on_ = false;
  bool tries_ = false;  // on_ is the other one than before
  double before_ = 0;   // bytes/s
  Time counts_from_{};
  std::uint64_t arrived_ = 0;  // bytes since then
  Duration rest_ = kFirstRest;
  Time rests_until_{};
};

}  // namespace mcdtp
