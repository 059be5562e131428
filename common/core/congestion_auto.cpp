#include "common/core/congestion_auto.h"

#include <algorithm>

namespace mcdtp {
namespace {

constexpr double kStartupGain = 2.77;
constexpr double kStartupGrowth = 1.25;
constexpr int kFlatRounds = 3;
constexpr double kInitialRate = static_cast<double>(kInitialWindow) / 0.1;  // bytes/s
// One round up, one down, the rest level.
constexpr std::array<double, 8> kCruiseGains = {1.25, 0.75, 1, 1, 1, 1, 1, 1};
constexpr Duration kMinRttLife = seconds(10);

}  // namespace

double CongestionAuto::bandwidth() const { return *std::max_element(rates_.begin(), rates_.end()); }

double CongestionAuto::path_loss() const {
  return std::min(kMaxPathLoss, *std::min_element(losses_.begin(), losses_.end()));
}

double CongestionAuto::gain() const {
  if (phase_ == Phase::kStartup) return kStartupGain;
  if (phase_ == Phase::kDrain) return 0.5;
  return kCruiseGains[rounds_ % kCruiseGains.size()];
}

double CongestionAuto::pacing_rate() const {
  return std::max(kInitialRate / 8, gain() * std::max(bandwidth(), rounds_ < 2 ? kInitialRate : 0) / (1 - path_loss()));
}

std::uint64_t CongestionAuto::window() const {
  const double round = to_seconds(min_rtt_ + report_interval_);
  const double bytes = 2 * std::max(1.0, gain()) * bandwidth() * round / (1 - path_loss());
  return std::max(rounds_ < 2 ? kInitialWindow : kMinWindow, static_cast<std::uint64_t>(bytes));
}

void CongestionAuto::on_report(const ReportSample& sample) {
  round_covered_ += static_cast<double>(sample.covered);
  round_lost_ += static_cast<double>(sample.lost);
  report_interval_ = sample.report_interval;
  if (sample.rtt && (!have_rtt_ || *sample.rtt <= min_rtt_ || sample.now - min_rtt_at_ > kMinRttLife)) {
    have_rtt_ = true;
    min_rtt_ = *sample.rtt;
    min_rtt_at_ = sample.now;
  }
  double& rate = rates_[rounds_ % kRateRounds];
  if (!sample.application_limited || sample.delivery_rate > bandwidth()) rate = std::max(rate, sample.delivery_rate);
  if (phase_ == Phase::kDrain) {
    if (static_cast<double>(sample.in_flight) <= bandwidth() * to_seconds(min_rtt_ + report_interval_)) {
      phase_ = Phase::kCruise;
    }
  }
  if (sample.delivered_before >= round_ends_at_) end_round(sample);
}

void CongestionAuto::end_round(const ReportSample& sample) {
  round_ends_at_ = sample.delivered;
  const double sent = round_covered_ + round_lost_;
  if (sent > 0) loss_ += (round_lost_ / sent - loss_) / 4;
  round_covered_ = round_lost_ = 0;
  if (phase_ == Phase::kStartup && !sample.application_limited) judge_startup();
  ++rounds_;
  losses_[rounds_ % kLossRounds] = loss_;
  if (!sample.application_limited) rates_[rounds_ % kRateRounds] = 0;
}

void CongestionAuto::judge_startup() {
  if (bandwidth() >= full_rate_ * kStartupGrowth) {
    full_rate_ = bandwidth();
    flat_rounds_ = 0;
  } else if (++flat_rounds_ >= kFlatRounds) {
    phase_ = Phase::kDrain;
  }
}

void CongestionAuto::on_silence(Time) {
  for (double& rate : rates_) rate /= 2;
}

}  // namespace mcdtp
