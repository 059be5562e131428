#pragma once

#include <array>

#include "common/core/congestion.h"

namespace mcdtp {

// Rate model that tells random loss from congestion (after draft-ietf-ccwg-bbr):
//   pacing = gain x D / (1 - p0),  window = 2 x gain x D x round / (1 - p0)
// D: largest delivery rate of the last rounds; p0: smallest loss seen of late, that is the path's own, at most kMaxPathLoss;
// round: smallest RTT plus the wait for a report.
class CongestionAuto : public CongestionController {
 public:
  static constexpr double kMaxPathLoss = 0.15;

  void on_report(const ReportSample& sample) override;
  void on_silence(Time now) override;
  double pacing_rate() const override;
  std::uint64_t window() const override;

 private:
  enum class Phase : std::uint8_t { kStartup, kDrain, kCruise };
  static constexpr std::size_t kRateRounds = 10;
  static constexpr std::size_t kLossRounds = 16;

  void end_round(const ReportSample& sample);
  void judge_startup();
  double bandwidth() const;
  double path_loss() const;
  double gain() const;

  Phase phase_ = Phase::kStartup;
  std::uint64_t round_ends_at_ = 0;  // when this much more is delivered
  std::uint64_t rounds_ = 0;
  std::array<double, kRateRounds> rates_{};  // largest of each round, bytes/s
  std::array<double, kLossRounds> losses_;   // smoothed share lost after each round
  double loss_ = 0;
  double round_covered_ = 0;
  double round_lost_ = 0;
  double full_rate_ = 0;   // start-up: the rate it has to beat
  int flat_rounds_ = 0;
  Duration min_rtt_ = milliseconds(100);
  bool have_rtt_ = false;
  Time min_rtt_at_{};
  Duration report_interval_ = milliseconds(25);

 public:
  CongestionAuto() { losses_.fill(0); }
};

}  // namespace mcdtp
