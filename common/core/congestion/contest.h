#pragma once

#include <algorithm>
#include <optional>

#include "common/core/congestion/congestion_cubic.h"

namespace mcdtp {

// Whether others fill every queue here and stop only at loss, as TCP CUBIC does: beside them a short queue would be left
// with nothing. They are there when the queue has stayed far over what we aim at for some rounds, and some time, although
// we gave way; then we do what TCP CUBIC does, until a queue is found to be gone. Windows in bytes.
class Contest {
 public:
  bool is_on() const { return tcp_.has_value(); }
  // REQUIRES: is_on().
  const CongestionCubic& tcp() const { return *tcp_; }
  // Tells whether it cut the window for a loss. REQUIRES: is_on().
  bool on_report_cuts(const ReportSample& sample) { return tcp_->on_report_cuts(sample); }

  // A round that began and ended then, while it is not on. Tells whether it is due. `window`: what fills the path and its
  // queue with our part.
  bool is_due_after(Time began, Time ended, bool is_crowded, double window) {
    crowded_rounds_ = is_crowded ? crowded_rounds_ + 1 : 0;
    if (crowded_rounds_ <= 1) {
      window_given_up_ = window;
      crowded_since_ = began;
    }
    return crowded_rounds_ >= kRounds && to_seconds(ended - crowded_since_) >= kTime;
  }
  // With our part of now, or with that of before we gave way, if nothing was lost since.
  double window_to_begin_with(double window) const { return std::max(window, window_given_up_); }
  void begin(double window) {
    crowded_rounds_ = 0;
    tcp_.emplace();
    tcp_->start_at(static_cast<std::uint64_t>(window));
  }
  void end() { tcp_.reset(); }
  void forget_window() { window_given_up_ = 0; }
  // Nothing of what was seen counts any more.
  void forget() { forget_window(), crowded_rounds_ = 0; }

  // After so many rounds in which less was sent, to see whether it may end: a queue that is all our own falls by what we
  // send less; beside others it falls by less, and we go back. `queue` and `rtt` in seconds.
  bool trial_goes_on(int rounds, double queue, double rtt) {
    if (!is_on()) return false;
    const double fallen = queue_before_ - queue;
    queue_before_ = queue;
    if (rounds < kTrialRounds) return true;
    return fallen > kOwnQueueFalls * (rtt + queue) && rounds < kMaxTrialRounds;
  }

 private:
  static constexpr int kRounds = 12;
  static constexpr double kTime = 0.4;  // s
  static constexpr int kTrialRounds = 3;
  static constexpr int kMaxTrialRounds = 12;
  static constexpr double kOwnQueueFalls = 0.15;  // of the RTT each round of a trial

  std::optional<CongestionCubic> tcp_;  // while it is on
  int crowded_rounds_ = 0;              // in a row,
  Time crowded_since_{};                // from here on
  double window_given_up_ = 0;          // 0: nothing, or long ago, or lost
  double queue_before_ = 0;             // s, in the round before, during a trial
};

}  // namespace mcdtp
