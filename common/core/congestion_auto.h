#pragma once

#include <algorithm>
#include <array>

#include "common/core/congestion.h"

namespace mcdtp {

// A rate model that tells random loss from congestion. It keeps three things:
//   rate      what the path takes: the largest of the last rounds' rates, each taken down by the loss that is not
//             the path's own: rate of a round = bytes/s taken x min(1, (1 - p) / (1 - p0 - kLossMargin))
//   p0        the path's own loss, measured only on packets sent while quiet(): more slowly than the path carries,
//             so that no loss we cause can be taken for the path's; at most kMaxPathLoss
//   min_rtt   the smallest RTT of the last kMinRttLife, so that RTT - min_rtt is our queue
// and sends at gain x rate, with at most kWindowGain x rate x round in flight; round = min_rtt + the wait for
// a report. (With D, the bytes/s delivered, rate is D / (1 - p0): the wire is full although p0 of it is
// lost.)
//
// Phases, changed only at the end of a round, unless said otherwise:
//   kStartup  doubles the rate each round until a queue shows (at once), or the rate no longer grows
//   kDrain    until the queue of start-up is gone (at once); a kUp follows soon
//   kLevel    at the rate, for kLevelRounds; one round of kDown among them if a queue stands
//   kUp       one round above the rate; if that pays, another follows that stakes twice as much
//   kDown     one round below the rate: empties the queue of kUp, and measures p0 and min_rtt
// While a queue stands the path is full, and what it takes now is what it can: older, larger rates are
// forgotten then, and when it loses more than p0 and a round stays well below the rate.
class CongestionAuto : public CongestionController {
 public:
  static constexpr double kMaxPathLoss = 0.15;
  static constexpr double kLossMargin = 0.02;
  static constexpr Duration kMinRttLife = seconds(10);

  void on_report(const ReportSample& sample) override;
  void on_silence(Time now) override;
  double pacing_rate() const override;
  std::uint64_t window() const override;
  bool quiet() const override { return phase_ == Phase::kDrain || phase_ == Phase::kDown; }

  double path_loss() const;
  Duration min_rtt() const { return std::min(min_rtt_[0], min_rtt_[1]); }

 private:
  enum class Phase : std::uint8_t { kStartup, kDrain, kLevel, kUp, kDown };
  // What was seen in the round that is running.
  struct Round {
    double rate = 0;       // bytes/s taken, the largest
    double covered = 0;    // bytes
    double lost = 0;       // bytes
    bool limited = true;   // by the application, all of it
    Duration rtt = kNone;  // the smallest
    double loss() const { return lost > 0 ? lost / (covered + lost) : 0; }
  };
  static constexpr Duration kNone = Duration::max();
  static constexpr std::size_t kRateRounds = 10;
  static constexpr double kFirstStake = 0.25;

  void note_rtt(Time now, Duration rtt);
  void note_quiet(const ReportSample& sample);
  void end_round(const ReportSample& sample);
  void choose_phase(bool queue_stands, double rate);
  void judge_startup(double rate);
  void end_drain();
  void judge_probe(bool queue_stands);
  void enter(Phase phase);
  void trip_breaker();
  void forget_older();

  double initial_rate() const;
  double rate() const;
  double rate_of(const ReportSample& sample) const;
  double gain() const;
  double round_seconds() const;
  bool is_queue(Duration rtt) const;
  bool queue_lasts(Time now) const;

  Phase phase_ = Phase::kStartup;
  Round round_;
  std::uint64_t round_ends_at_ = 1;  // when a packet sent after this many bytes is covered
  std::uint64_t rounds_ = 0;
  int rounds_in_phase_ = 0;
  std::array<double, kRateRounds>
      rates_{};               // of each round, bytes/s; the running one at rounds_ % kRateRounds
  double loss_ = 0;           // smoothed over about four rounds
  double quiet_covered_ = 0;  // bytes, fading
  double quiet_lost_ = 0;
  double full_rate_ = 0;  // start-up: the rate to beat; kUp: the rate before it
  int flat_rounds_ = 0;
  int lossy_rounds_ = 0;                              // in a row, for the breaker
  double stake_ = kFirstStake;                        // what the next kUp adds to the rate, as a share
  bool drained_ = false;                              // kDown was put among the level rounds
  std::array<Duration, 2> min_rtt_ = {kNone, kNone};  // of this and of the last half life
  Time half_life_began_{};
  std::optional<Time> queue_since_;  // every RTT since then showed a queue
  Duration report_interval_ = milliseconds(25);
};

}  // namespace mcdtp
