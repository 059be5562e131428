#pragma once

#include <memory>
#include <utility>

#include "common/core/congestion/congestion.h"

namespace mcdtp {

// Another congestion control that may not go beyond a rate: pacing_rate() is the smaller of the two. What it learns of
// the path is then what the rate lets it learn.
class CongestionCapped : public CongestionController {
 public:
  // bit/s of payload, > 0. REQUIRES: `inner`.
  CongestionCapped(std::unique_ptr<CongestionController> inner, std::uint64_t rate_bps)
      : inner_(std::move(inner)), rate_(static_cast<double>(rate_bps) / 8 * kDatagramPerPayload) {
    inner_->forbid_trains();
  }

  void on_report(const ReportSample& sample) override { inner_->on_report(sample); }
  void on_silence(Time now) override { inner_->on_silence(now); }
  double pacing_rate() const override { return std::min(rate_, inner_->pacing_rate()); }
  double quantum(Duration rtt) const override {
    return std::min(inner_->quantum(rtt), CongestionController::quantum(rtt));
  }
  Duration catch_up(Duration rtt) const override { return inner_->catch_up(rtt); }
  std::uint64_t window() const override { return inner_->window(); }
  bool quiet(Time now) const override { return inner_->quiet(now); }
  bool is_starting() const override { return inner_->is_starting(); }

 private:
  static constexpr double kDatagramPerPayload = 1200.0 / 1165.0;

  std::unique_ptr<CongestionController> inner_;
  double rate_;  // bytes/s of datagrams
};

}  // namespace mcdtp
