#include "common/core/congestion/congestion_daimd.h"

#include <algorithm>
#include <cmath>

namespace mcdtp {
namespace {

constexpr double kIncreaseShare = 1.5e-6;  // UDT's beta: of the free capacity in bit/s, in bytes an interval
constexpr double kLeastIncrease = 1;       // byte an interval
constexpr double kSlowStartGain = 2;
constexpr double kSmoothing = 1.0 / 8;
constexpr std::int64_t kMostIntervals = 100;  // that one report may bring
constexpr double kMaxWindow = 1e15;           // bytes
constexpr int kQueueShare = 16;               // a queue makes the RTT longer by more than this share of it
constexpr Duration kMinQueue = milliseconds(2);

}  // namespace

double CongestionDaimd::pacing_rate() const {
  const double rate = slow_start_ ? kSlowStartGain * window_ / round_seconds() : rate_;
  return std::clamp(rate, kLowestRate, kHighestRate);
}

std::uint64_t CongestionDaimd::window() const {
  const double bytes =
      slow_start_ ? window_ : taken_ * round_seconds() + static_cast<double>(kSparePackets) * segment_;
  return static_cast<std::uint64_t>(std::clamp(bytes, static_cast<double>(kMinWindow), kMaxWindow));
}

double CongestionDaimd::round_seconds() const { return to_seconds(rtt_ + wait_); }

double CongestionDaimd::capacity() const {
  if (full_rate_ > rate_ || queue_stands_) return full_rate_;
  return kUnknownCapacity * rate_;
}

// Bytes a kSyn, each kSyn.
double CongestionDaimd::increase() const {
  const double free_bits = (capacity() - rate_) * 8;
  if (free_bits <= 1) return kLeastIncrease;
  return std::max(std::pow(10, std::ceil(std::log10(free_bits))) * kIncreaseShare, kLeastIncrease);
}

void CongestionDaimd::on_report(const ReportSample& sample) {
  segment_ = static_cast<double>(sample.datagram_size);
  rtt_ = sample.smoothed_rtt;
  wait_ = std::max(kSyn, sample.report_interval);
  if (sample.rtt) note_rtt(sample.now, *sample.rtt);
  if (sample.rate > 0) note_rate(sample);
  if (sample.lost > 0) on_loss(sample);
  grow(sample);
}

void CongestionDaimd::note_rtt(Time now, Duration rtt) {
  min_rtt_.tell_time(now);
  min_rtt_.note(rtt);
  const Duration smallest = min_rtt_.get();
  const bool stood = queue_stands_;
  queue_stands_ = rtt - smallest > std::max<Duration>(smallest / kQueueShare, kMinQueue);
  if (queue_stands_ && !stood) full_rate_ = 0;
}

void CongestionDaimd::note_rate(const ReportSample& sample) {
  limited_ = sample.application_limited;
  const double taken = std::min(sample.rate, kHighestRate);
  if (limited_ && taken < taken_) return;
  taken_ = taken_ > 0 ? taken_ + (taken - taken_) * kSmoothing : taken;
  if (queue_stands_ && !limited_) full_rate_ = std::max(full_rate_, taken_);
}

void CongestionDaimd::end_slow_start(Time now) {
  interval_began_ = now;
  slow_start_ = false;
  rate_ = std::max(kLowestRate, taken_ > 0 ? taken_ : window_ / round_seconds());
}

// ---- loss ----

void CongestionDaimd::on_loss(const ReportSample& sample) {
  if (slow_start_) {
    cut_at_ = sample.sent;
    return end_slow_start(sample.now);
  }
  spoilt_intervals_ += 1 + sample.lost / sample.datagram_size;
  if (sample.newest_lost > cut_at_) {
    usual_reports_ += (static_cast<double>(loss_reports_) - usual_reports_) * kSmoothing;
    spacing_ = random_up_to(static_cast<std::uint64_t>(std::ceil(usual_reports_)));
    cuts_ = 0;
    loss_reports_ = 1;
    return cut(sample.sent);
  }
  if (++loss_reports_ % spacing_ == 0 && cuts_ < kMaxCuts) cut(sample.sent);
}

void CongestionDaimd::cut(std::uint64_t sent) {
  ++cuts_;
  rate_ = std::max(kLowestRate, rate_ / kCut);
  cut_at_ = sent;
}

// 1 to `most`. Any spread will do, so that sessions do not cut in step: xorshift.
std::uint64_t CongestionDaimd::random_up_to(std::uint64_t most) {
  random_ |= random_ == 0;
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return 1 + random_ % std::max<std::uint64_t>(1, most);
}

// ---- growth ----

void CongestionDaimd::grow(const ReportSample& sample) {
  if (!slow_start_) return pass_intervals(sample.now);
  const auto covered = static_cast<double>(sample.covered);
  if (2 * (static_cast<double>(sample.in_flight) + covered) < window_) return;
  window_ = std::min(kMaxWindow, window_ + covered);
}

// UDT does this by a timer; here the intervals that ended since the last report are gone through at once.
void CongestionDaimd::pass_intervals(Time now) {
  const std::int64_t passed = std::max<std::int64_t>(0, (now - interval_began_) / kSyn);
  if (passed == 0) return;
  interval_began_ += passed * kSyn;
  const auto spoilt = static_cast<std::int64_t>(std::min<std::uint64_t>(spoilt_intervals_, kMostIntervals));
  spoilt_intervals_ = 0;
  if (limited_) return;
  for (std::int64_t i = spoilt; i < std::min(passed, kMostIntervals); ++i)
    rate_ = std::min(kHighestRate, rate_ + increase() / to_seconds(kSyn));
}

void CongestionDaimd::on_silence(Time now) {
  if (slow_start_) end_slow_start(now);
  rate_ = std::max(kLowestRate, rate_ / 2);
}

}  // namespace mcdtp
