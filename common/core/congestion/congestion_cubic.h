#pragma once

#include <limits>

#include "common/core/congestion/congestion.h"
#include "common/core/congestion/hystart.h"

namespace mcdtp {

// What TCP does, so that the others can be compared with it: CUBIC (RFC 9438) after a slow start with HyStart++.
// Any loss is taken for congestion. It costs kDecrease once an episode: what was sent before the cut belongs to
// it, whenever it is found missing (RFC 9002 section 7.3.2). A window that is not made use of does not grow.
// Paced at kPacingGain x window / RTT (RFC 9002 section 7.7), in slow start at kSlowStartGain x.
class CongestionCubic : public CongestionController {
 public:
  static constexpr double kDecrease = 0.7;
  static constexpr double kPacingGain = 1.25;
  static constexpr double kSlowStartGain = 2;
  static constexpr std::uint64_t kInitialSegments = 10;  // RFC 6928

  void on_report(const ReportSample& sample) override { on_report_cuts(sample); }
  // Persistent congestion (RFC 9002 section 7.6): back to the smallest window.
  void on_silence(Time now) override;
  double pacing_rate() const override;
  std::uint64_t window() const override;

  // Goes on from a window of so many bytes that another controller had reached, without slow start.
  void start_at(std::uint64_t window);
  // Tells whether it cut the window for a loss.
  bool on_report_cuts(const ReportSample& sample);
  bool in_slow_start() const { return window_ < threshold_; }

 private:
  // Between two cuts. Windows in segments, as in RFC 9438 section 4.1.
  struct Epoch {
    Time began{};              // later by the time in which the window was not made use of
    double prior = 0;          // cwnd_prior: the window before the cut
    double peak = 0;           // W_max: the plateau of the curve
    double plateau_after = 0;  // K, in seconds
    double reno = 0;           // W_est: what Reno would have reached
    bool began_yet = false;    // at the first growth
  };

  void cut(const ReportSample& sample);
  void grow(const ReportSample& sample);
  void grow_in_slow_start(const ReportSample& sample);
  void grow_by_curve(Time now, double covered);
  void begin_epoch(Time now, double window);
  double curve(double seconds_passed) const;
  double segments() const { return window_ / segment_; }
  void set_window(double bytes);
  // REQUIRES: bytes > 0.
  void set_segment(double bytes);

  double segment_ = 1200;                                         // bytes
  double window_ = static_cast<double>(kInitialSegments) * 1200;  // bytes
  double threshold_ = std::numeric_limits<double>::infinity();    // bytes: slow start below
  double last_peak_ = 0;                                          // segments: W_max of the epoch before
  Epoch epoch_;
  HyStart start_;
  Time last_report_{};
  Duration rtt_ = milliseconds(100);
  std::uint64_t round_ends_at_ = 1;  // when a packet sent after this many bytes is covered
  std::uint64_t cut_at_ = 0;         // bytes sent until the last cut
  bool recovering_ = false;          // nothing sent after the last cut is covered yet
};

}  // namespace mcdtp
