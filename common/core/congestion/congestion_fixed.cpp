#include "common/core/congestion/congestion_fixed.h"

#include <algorithm>
#include <cmath>

namespace mcdtp {

void CongestionFixed::on_report(const ReportSample& sample) {
  const double fade = std::exp(-to_seconds(sample.now - last_) / to_seconds(kMemory));
  last_ = sample.now;
  covered_ = covered_ * fade + static_cast<double>(sample.covered);
  lost_ = lost_ * fade + static_cast<double>(sample.lost);
  if (covered_ + lost_ > 0) ack_rate_ = std::max(kMinAckRate, covered_ / (covered_ + lost_));
  datagram_ = static_cast<double>(sample.datagram_size);
  round_ = sample.smoothed_rtt + sample.report_interval;
}

double CongestionFixed::quantum(Duration rtt) const {
  switch (pacing_) {
    case Pacing::kEven: return 2 * datagram_;
    case Pacing::kBurst: return std::max(2 * datagram_, pacing_rate() * to_seconds(kBurstInterval));
    case Pacing::kTrains: break;
  }
  return CongestionController::quantum(rtt);
}

// Twice what the rate puts in flight, and a burst: the window never holds the rate back.
std::uint64_t CongestionFixed::window() const {
  return std::max(kInitialWindow,
                  static_cast<std::uint64_t>(2 * pacing_rate() * to_seconds(round_) + quantum(round_)));
}

}  // namespace mcdtp
