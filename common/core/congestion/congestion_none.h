#pragma once

#include <limits>

#include "common/core/congestion/congestion.h"

namespace mcdtp {

// No congestion control at all, as in MCDTP's own experiment: what credit and sockets take is sent at once. It
// fills every queue, pushes aside all who share the path, and sends again and again what it lost by itself.
class CongestionNone : public CongestionController {
 public:
  void on_report(const ReportSample&) override {}
  void on_silence(Time) override {}
  double pacing_rate() const override { return std::numeric_limits<double>::infinity(); }
  // Memory is the bound.
  std::uint64_t window() const override { return std::numeric_limits<std::uint64_t>::max(); }
};

}  // namespace mcdtp
