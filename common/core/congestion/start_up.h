#pragma once

#include <algorithm>

#include "common/core/congestion/congestion.h"
#include "common/core/congestion/head_start.h"
#include "common/core/congestion/queue_delay.h"

namespace mcdtp {

// How a rate is found that nothing is known of: the first window is paced, and grows with the RTT; from there on the pace
// is a multiple of what comes through, until that no longer grows, or of what trains say, see HeadStart. What else ends it,
// a queue or losses, is not seen here. Rates in bytes/s, windows in bytes.
class StartUp {
 public:
  // Data go out before anything has come back.
  void on_early() { sends_early_ = true; }
  void give_up_trains() { head_start_.give_up(); }

  // Of each report, the queue as of then.
  void on_report(const ReportSample& sample, const QueueDelay& queue) {
    if (!knows_rtt_) early_ = sample.sent;
    newest_covered_ = std::max(newest_covered_, sample.newest_covered);
    knows_rtt_ = queue.knows_rtt();
    rtt_ = queue.rtt_seconds();
  }
  // Of each report while it goes on.
  void tell_time(Time now) { head_start_.tell_time(now, rtt_); }
  // Likewise. REQUIRES: sends_trains().
  void note_train(const ReportSample& sample) { head_start_.on_report(sample); }
  // Enough was sent in a round to say something of the path.
  void on_full_round() { ++full_rounds_; }

  // While so little is sent that the path has time to draw it out, and rounds are long enough for that to pay.
  bool sends_trains() const {
    const bool is_time = full_rounds_ < kTrainRounds || head_start_.wants_long_trains();
    return is_time && head_start_.wants_trains() && (knows_rtt_ || sends_early_) && rtt_ >= kShortRtt;
  }
  double train() const { return head_start_.train(); }
  // What is sent now queues by itself: a train does, unless the path is fast, and so does what was sent before anything was
  // known of the path.
  bool queues_by_itself(const ReportSample& sample) const {
    return sample.newest_covered <= early_ || (sends_trains() && !head_start_.wants_long_trains());
  }

  // Where `rate` comes through, `kept` of what is sent: what the path loses does not, however much there is room for.
  double pacing_rate(double rate, double kept) const {
    const double grown = std::min(kGain * rate, head_start_.bound(rate, kept));
    const bool begins = full_rounds_ < kTrainRounds && head_start() == 0;
    return std::max({grown, head_start(), begins ? initial_rate() : 0.0});
  }
  // `round`: seconds.
  std::uint64_t window(double rate, double round) const {
    const double most = std::max(kWindowGain * rate, kHeadStartWindowGain * head_start());
    return std::max(initial_window(), static_cast<std::uint64_t>(most * round));
  }

  // What trains have said of the path, bytes/s; 0: nothing.
  double capacity() const { return head_start_.capacity(); }
  // A round is over.
  bool grows(double rate) {
    if (rate < full_rate_ * kGrowth) return false;
    full_rate_ = rate;
    flat_rounds_ = 0;
    return true;
  }
  // It did not grow. Tells whether that is the end.
  bool is_over_by_flat_round() { return ++flat_rounds_ >= kFlatRounds; }

 private:
  // A rate is known a round trip late and is a mean over one: a pace of g x rate grows by e^a a round trip,
  // where a = g (e^-a - e^-2a): 2.6 for g = 4. The window holds back what overshoots.
  static constexpr double kGain = 4;
  static constexpr double kWindowGain = 2.77;
  static constexpr double kHeadStartWindowGain = 2;
  static constexpr double kGrowth = 1.25;
  static constexpr int kFlatRounds = 3;
  // From kLongRtt on the initial window grows with the RTT, at most to so many times kInitialWindow.
  static constexpr double kMostTimes = 4;
  static constexpr double kShortRtt = 0.03;  // s: below this rounds cost little, ...
  static constexpr int kTrainRounds = 2;     // full ones, in which the initial window goes
  static constexpr double kMostAhead = 4;  // times what the round after the initial window would take at most
  static constexpr std::uint64_t kFew = 4 * 1200;  // bytes: by chance

  // A long path is no slower than a short one, and each round of growth takes longer there. RFC 6928's window is
  // ten packets whatever the RTT, ours 64 and more, but paced: as a rate it is no more than that of a path of kLongRtt.
  std::uint64_t initial_window() const {
    const double times = std::clamp(rtt_ / to_seconds(kLongRtt), 1.0, kMostTimes);
    return static_cast<std::uint64_t>(times * static_cast<double>(kInitialWindow));
  }
  // In a round trip. Where that is short, so may be the path's queue.
  double initial_window_rate() const {
    return static_cast<double>(initial_window()) / std::max(rtt_, kShortRtt);
  }
  // The initial window in half a round trip: a faster one could queue, and a queue ends the start-up.
  double initial_rate() const { return 2 * initial_window_rate(); }
  // What was sent early is too little to go by before all of it has come: a policer lets some of it pass.
  double head_start() const {
    if (newest_covered_ + kFew < early_) return 0;
    return head_start_.rate(kMostAhead * kWindowGain * initial_window_rate());
  }

  HeadStart head_start_;
  bool knows_rtt_ = false;
  double rtt_ = to_seconds(QueueDelay::kUnknownRtt);
  bool sends_early_ = false;
  std::uint64_t early_ = 0;           // bytes sent before the first RTT was seen
  std::uint64_t newest_covered_ = 0;  // bytes sent up to the newest packet that has come
  int full_rounds_ = 0;
  double full_rate_ = 0;  // the rate to beat
  int flat_rounds_ = 0;
};

}  // namespace mcdtp
