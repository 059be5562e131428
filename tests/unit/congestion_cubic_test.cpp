#include "common/core/congestion/congestion_cubic.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mcdtp {
namespace {

constexpr double kSegment = 1200;
constexpr Duration kRtt = milliseconds(100);

// A sender that fills the window each round and hears of it in four reports.
class Sender {
 public:
  void rounds(int count) {
    for (int i = 0; i < 4 * count; ++i) report(0);
  }
  // A report that also tells of `lost` bytes sent a round ago.
  void report(std::uint64_t lost) {
    ReportSample sample;
    const std::uint64_t part = cubic.window() / 4;
    now += kRtt / 4;
    sent += part;
    sample.now = now;
    sample.covered = part - std::min(part, lost);
    sample.lost = lost;
    sample.in_flight = cubic.window() - part;
    sample.sent = sent;
    // A window was sent after it.
    sample.newest_covered = sent - std::min(sent, sample.in_flight);
    sample.newest_lost =
        lost > 0 ? sample.newest_covered - std::min<std::uint64_t>(sample.newest_covered, 1) : 0;
    sample.rtt = rtt;
    sample.smoothed_rtt = kRtt;
    sample.report_interval = kRtt / 4;
    has_cut = cubic.on_report_cuts(sample);
  }
  double segments() const { return static_cast<double>(cubic.window()) / kSegment; }

  CongestionCubic cubic;
  bool has_cut = false;  // with the last report
  Duration rtt = kRtt;
  Time now = Time(seconds(1));
  std::uint64_t sent = 0;
};

TEST(CongestionCubic, SlowStartDoublesEachRound) {
  Sender sender;
  EXPECT_EQ(sender.segments(), CongestionCubic::kInitialSegments);
  double before = sender.segments();
  for (int i = 0; i < 6; ++i) {
    sender.rounds(1);
    // 1.25^4: what a quarter of the window brings grows the next quarter.
    EXPECT_GE(sender.segments(), 1.9 * before);
    EXPECT_LE(sender.segments(), 2.5 * before);
    before = sender.segments();
  }
  EXPECT_TRUE(sender.cubic.in_slow_start());
}

// Losses of packets sent before the last cut are answered already.
TEST(CongestionCubic, TellsThatItCut) {
  Sender sender;
  sender.rounds(3);
  EXPECT_FALSE(sender.has_cut);
  const double before = sender.segments();
  sender.report(1200);
  EXPECT_TRUE(sender.has_cut);
  EXPECT_LT(sender.segments(), before);
  sender.report(1200);
  EXPECT_FALSE(sender.has_cut);
}

TEST(CongestionCubic, SlowStartEndsWhereAQueueShows) {
  Sender sender;
  sender.rounds(5);
  const double before = sender.segments();
  for (int i = 0; i < 10; ++i) {
    sender.rtt += milliseconds(20);
    sender.rounds(1);
  }
  EXPECT_FALSE(sender.cubic.in_slow_start());
  EXPECT_LE(sender.segments(), 16 * before);
}

TEST(CongestionCubic, OneCutAnEpisode) {
  Sender sender;
  sender.rounds(5);
  const double before = sender.segments();
  sender.report(1200);
  EXPECT_NEAR(sender.segments(), 0.7 * before, 0.1);
  EXPECT_FALSE(sender.cubic.in_slow_start());
  // All of these were sent before the cut.
  for (int i = 0; i < 3; ++i) sender.report(1200);
  EXPECT_NEAR(sender.segments(), 0.7 * before, 0.1);
  sender.rounds(3);
  const double again = sender.segments();
  sender.report(1200);
  EXPECT_NEAR(sender.segments(), 0.7 * again, 0.1);
}

TEST(CongestionCubic, GrowsByTheCurveAfterACut) {
  Sender sender;
  sender.rounds(7);
  const double peak = sender.segments();
  sender.report(1200);
  const double plateau_after = std::cbrt(0.3 * peak / 0.4);
  const int plateau_rounds = static_cast<int>(plateau_after / 0.1);
  // Steep, then flat at the plateau, then steep again.
  sender.rounds(plateau_rounds / 2);
  EXPECT_GE(sender.segments(), 0.94 * peak);
  EXPECT_LE(sender.segments(), peak);
  sender.rounds(plateau_rounds / 2 + 2);
  EXPECT_NEAR(sender.segments(), peak, 0.02 * peak);
  sender.rounds(plateau_rounds);
  EXPECT_GE(sender.segments(), 1.2 * peak);
  EXPECT_LE(sender.segments(), 1.5 * peak);
}

// With few segments a round trip Reno is faster, and it is followed: 0.53 segments a round.
TEST(CongestionCubic, IsNoSlowerThanReno) {
  Sender sender;
  sender.report(1200);
  sender.rounds(2);
  const double before = sender.segments();
  sender.rounds(4);
  EXPECT_GE(sender.segments() - before, 4 * 0.5);
}

// Two cuts in a row: the second plateau is lower, so that others find room.
TEST(CongestionCubic, ConvergesFast) {
  Sender sender;
  sender.rounds(7);
  sender.report(1200);
  sender.rounds(2);
  const double second = sender.segments();
  sender.report(1200);
  // To the plateau at 0.85 x second, and there it is flat.
  const double plateau_after = std::cbrt(0.15 * second / 0.4);
  sender.rounds(static_cast<int>(plateau_after / 0.1) + 3);
  EXPECT_NEAR(sender.segments(), 0.85 * second, 0.03 * second);
}

TEST(CongestionCubic, AWindowNotUsedDoesNotGrow) {
  for (const bool cut_before : {false, true}) {
    Sender sender;
    sender.rounds(4);
    if (cut_before) sender.report(1200);
    sender.rounds(2);
    const double before = sender.segments();
    for (int i = 0; i < 100; ++i) {
      ReportSample sample;
      sample.now = sender.now += seconds(1);
      sample.covered = 1200;
      sample.sent = sender.sent += 1200;
      sample.newest_covered = sender.sent;
      sample.rtt = sample.smoothed_rtt = kRtt;
      sender.cubic.on_report(sample);
    }
    EXPECT_EQ(sender.segments(), before) << cut_before;
    // Nor does the curve go on meanwhile.
    sender.rounds(1);
    EXPECT_LE(sender.segments(), cut_before ? 1.1 * before : 2.5 * before);
  }
}

TEST(CongestionCubic, IsPacedAboveTheWindow) {
  Sender sender;
  sender.rounds(5);
  EXPECT_NEAR(sender.cubic.pacing_rate(), 2 * sender.segments() * kSegment / 0.1, 2e4);
  sender.report(1200);
  EXPECT_NEAR(sender.cubic.pacing_rate(), 1.25 * sender.segments() * kSegment / 0.1, 2e4);
}

TEST(CongestionCubic, SilenceStartsOver) {
  Sender sender;
  sender.rounds(7);
  sender.cubic.on_silence(sender.now);
  EXPECT_EQ(sender.cubic.window(), kMinWindow);
  EXPECT_TRUE(sender.cubic.in_slow_start());
}

}  // namespace
}  // namespace mcdtp
