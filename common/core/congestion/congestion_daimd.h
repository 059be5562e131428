#pragma once

#include "common/core/congestion/congestion.h"
#include "common/core/of_late.h"

namespace mcdtp {

// UDT's congestion control (draft-gg-udt section 5.2.2), whose increase decreases as the link fills up:
//   slow start      until the first loss: the window grows by what is covered; then the rate is what the path took
//   each kSyn       rate += max(10^ceil(log10(B - C)) x 1.5e-6, 1 byte) / kSyn, where B is the link's capacity and
//                   C the rate, both in bit/s; not where packets of that interval were lost
//   a new episode   rate / kCut; on later loss reports of it again, at random, kMaxCuts times at most in all
//   window          what the path takes x (RTT + kSyn, or the wait for a report) + 16 packets
// With random loss p it stalls at a quarter to a third of 1 / (p x kSyn) packets/s, where hardly an interval passes
// without a loss.
//
// UDT measures B by packet pairs. A report brings no arrival times, and GRO would hide them, so B is the most that
// the path took while a queue last stood, and kUnknownCapacity x C where C has come past that without a queue.
// So a delay that differs by itself is taken for a queue, and then the rate hardly grows.
// A rate that is not made use of does not grow.
class CongestionDaimd : public CongestionController {
 public:
  static constexpr Duration kSyn = milliseconds(10);
  static constexpr double kCut = 1.125;
  static constexpr int kMaxCuts = 5;
  static constexpr double kUnknownCapacity = 10;
  static constexpr std::uint64_t kSparePackets = 16;  // the first window, too

  // `seed`: of the spacing of cuts; sessions that share a link should not have the same.
  explicit CongestionDaimd(std::uint64_t seed) : random_(seed) {}

  void on_report(const ReportSample& sample) override;
  // Halves the rate.
  void on_silence(Time now) override;
  double pacing_rate() const override;
  std::uint64_t window() const override;

  bool in_slow_start() const { return slow_start_; }
  // B, in bytes/s.
  double capacity() const;

 private:
  static constexpr Duration kNone = Duration::max();
  static constexpr Duration kMinRttLife = seconds(10);

  void note_rtt(Time now, Duration rtt);
  void note_rate(const ReportSample& sample);
  void end_slow_start(Time now);
  void on_loss(const ReportSample& sample);
  void cut(std::uint64_t sent);
  void grow(const ReportSample& sample);
  void pass_intervals(Time now);
  double increase() const;
  double round_seconds() const;
  std::uint64_t random_up_to(std::uint64_t most);

  bool slow_start_ = true;
  double segment_ = 1200;                                      // bytes
  double window_ = static_cast<double>(kSparePackets) * 1200;  // bytes, in slow start
  double rate_ = 0;                                            // C, bytes/s, after slow start
  double taken_ = 0;                                           // bytes/s that the path takes, smoothed
  bool limited_ = false;                                       // by the application, of late
  double full_rate_ = 0;  // bytes/s, the most that the path took while a queue last stood
  bool queue_stands_ = false;
  SmallestOfLate<Duration> min_rtt_{kMinRttLife, kNone};
  Duration rtt_ = milliseconds(100);
  Duration wait_ = kSyn;  // for a report

  Time interval_began_{};
  std::uint64_t spoilt_intervals_ = 0;  // at most so many of those since interval_began_ saw a loss

  // The loss episode: what was sent before the last cut belongs to it.
  std::uint64_t cut_at_ = 0;        // bytes sent until then
  int cuts_ = 0;                    // in this episode
  std::uint64_t loss_reports_ = 0;  // in this episode
  std::uint64_t spacing_ = 1;       // a cut at every so many of them
  double usual_reports_ = 1;        // in an episode, smoothed
  std::uint64_t random_;
};

}  // namespace mcdtp
