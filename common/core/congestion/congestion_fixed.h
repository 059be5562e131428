#pragma once

#include "common/core/congestion/congestion.h"

namespace mcdtp {

// Sends at the rate it was told, raised by what is lost, as hysteria's Brutal does:
// pacing = rate / max(kMinAckRate, share of packets covered over the last kMemory).
// FMFT's two ways to space it: pairs of datagrams, or what is due of each kBurstInterval at once.
class CongestionFixed : public CongestionController {
 public:
  static constexpr double kMinAckRate = 0.8;
  static constexpr Duration kMemory = seconds(5);
  static constexpr Duration kBurstInterval = milliseconds(50);

  // bit/s of payload, > 0.
  explicit CongestionFixed(std::uint64_t rate_bps, Pacing pacing = Pacing::kTrains)
      : rate_(static_cast<double>(rate_bps) / 8), pacing_(pacing) {}

  void on_report(const ReportSample& sample) override;
  void on_silence(Time) override {}
  double pacing_rate() const override { return rate_ * kDatagramPerPayload / ack_rate_; }
  double quantum(Duration rtt) const override;
  std::uint64_t window() const override;

 private:
  static constexpr double kDatagramPerPayload = 1200.0 / 1165.0;

  double rate_;  // bytes/s
  Pacing pacing_;
  double datagram_ = 1200;  // bytes
  double ack_rate_ = 1;     // kMinAckRate to 1
  double covered_ = 0;      // bytes, fading over kMemory
  double lost_ = 0;
  Time last_{};
  Duration round_ = milliseconds(100);  // RTT and the wait for a report
};

}  // namespace mcdtp
