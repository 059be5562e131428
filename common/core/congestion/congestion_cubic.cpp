#include "common/core/congestion/congestion_cubic.h"

#include <algorithm>
#include <cmath>

namespace mcdtp {
namespace {

constexpr double kCurve = 0.4;  // C of RFC 9438, in segments / s^3
// What makes additive increase with kDecrease as fast as Reno's (RFC 9438 section 4.3).
constexpr double kRenoGrowth = 3 * (1 - CongestionCubic::kDecrease) / (1 + CongestionCubic::kDecrease);
constexpr double kMaxWindow = 1e15;  // bytes
constexpr Duration kMinRtt = microseconds(10);

}  // namespace

double CongestionCubic::pacing_rate() const {
  const double gain = in_slow_start() ? kSlowStartGain : kPacingGain;
  const double rate = gain * window_ / to_seconds(std::max<Duration>(rtt_, kMinRtt));
  return std::clamp(rate, kLowestRate, kHighestRate);
}

std::uint64_t CongestionCubic::window() const { return static_cast<std::uint64_t>(window_); }

void CongestionCubic::set_window(double bytes) {
  window_ = std::clamp(bytes, static_cast<double>(kMinWindow), kMaxWindow);
}

void CongestionCubic::start_at(std::uint64_t window) {
  set_window(static_cast<double>(window));
  threshold_ = window_;
  last_peak_ = segments();
  epoch_ = {.prior = last_peak_, .peak = last_peak_};
}

bool CongestionCubic::on_report_cuts(const ReportSample& sample) {
  set_segment(static_cast<double>(sample.datagram_size));
  rtt_ = sample.smoothed_rtt;
  if (sample.newest_covered > cut_at_) recovering_ = false;
  const bool cuts = sample.newest_lost > cut_at_;
  if (cuts) {
    cut(sample);
  } else if (!recovering_) {
    grow(sample);
  }
  last_report_ = sample.now;
  return cuts;
}

// The bytes stay the same: larger datagrams make fewer segments.
void CongestionCubic::set_segment(double bytes) {
  const double scale = segment_ / bytes;
  for (double* segments : {&epoch_.prior, &epoch_.peak, &epoch_.reno, &last_peak_}) *segments *= scale;
  segment_ = bytes;
}

void CongestionCubic::cut(const ReportSample& sample) {
  const double before = segments();
  // Fast convergence (RFC 9438 section 4.7): who gets less than before makes room for those who came.
  const double peak = before < last_peak_ ? before * (1 + kDecrease) / 2 : before;
  last_peak_ = before;
  set_window(window_ * kDecrease);
  threshold_ = window_;
  epoch_ = {.prior = before, .peak = peak};
  cut_at_ = sample.sent;
  recovering_ = true;
}

void CongestionCubic::grow(const ReportSample& sample) {
  const double covered = static_cast<double>(sample.covered);
  const double used = static_cast<double>(sample.in_flight) + covered;
  if (2 * used < window_) {
    // The curve waits too (RFC 9438 section 5.8).
    epoch_.began += sample.now - last_report_;
    return;
  }
  if (in_slow_start()) return grow_in_slow_start(sample);
  grow_by_curve(sample.now, covered / segment_);
}

void CongestionCubic::grow_in_slow_start(const ReportSample& sample) {
  if (sample.rtt) start_.on_rtt(*sample.rtt);
  set_window(window_ + static_cast<double>(sample.covered) * start_.growth());
  if (sample.newest_covered >= round_ends_at_) {
    round_ends_at_ = sample.sent + 1;
    start_.end_round();
  }
  if (start_.done()) threshold_ = window_;
}

double CongestionCubic::curve(double seconds_passed) const {
  return kCurve * std::pow(seconds_passed - epoch_.plateau_after, 3) + epoch_.peak;
}

void CongestionCubic::begin_epoch(Time now, double window) {
  epoch_.began_yet = true;
  epoch_.began = now;
  epoch_.reno = window;
  // Where slow start ended without a cut, the curve rises from here.
  epoch_.peak = std::max(epoch_.peak, window);
  epoch_.plateau_after = std::cbrt((epoch_.peak - window) / kCurve);
}

// `covered`: segments.
void CongestionCubic::grow_by_curve(Time now, double covered) {
  const double before = segments();
  if (!epoch_.began_yet) begin_epoch(now, before);
  const double passed = to_seconds(now - epoch_.began);
  const double target = std::clamp(curve(passed + to_seconds(rtt_)), before, 1.5 * before);
  const double after = std::min(target, before + covered * (target - before) / before);
  epoch_.reno += (epoch_.reno >= epoch_.prior ? 1 : kRenoGrowth) * covered / before;
  const bool reno_is_faster = curve(passed) < epoch_.reno;
  set_window(segment_ * (reno_is_faster ? std::max(after, epoch_.reno) : after));
}

void CongestionCubic::on_silence(Time) {
  threshold_ = std::max(static_cast<double>(kMinWindow), window_ * kDecrease);
  last_peak_ = segments();
  epoch_ = {.prior = last_peak_, .peak = last_peak_};
  set_window(0);
  start_ = {};
}

}  // namespace mcdtp
