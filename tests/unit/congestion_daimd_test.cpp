#include "common/core/congestion/congestion_daimd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace mcdtp {
namespace {

constexpr Duration kRtt = milliseconds(50);
constexpr Duration kStep = milliseconds(10);

// A fluid link without a bound on its queue, in steps of one interval of the algorithm, each with a report.
class Sender {
 public:
  explicit Sender(double link_rate, std::uint64_t seed = 1) : daimd(seed), link(link_rate) {}

  void steps(int count) {
    for (int i = 0; i < count; ++i) report(0);
  }
  // A report that tells of `lost` bytes sent a round trip ago.
  void report(std::uint64_t lost) {
    const double pace = std::min(daimd.pacing_rate(), static_cast<double>(daimd.window()) / to_seconds(kRtt));
    const double offered = queue + pace * to_seconds(kStep);
    const double taken = std::min(offered, link * to_seconds(kStep));
    queue = daimd.in_slow_start() ? 0 : offered - taken;
    now += kStep;
    const auto bytes = static_cast<std::uint64_t>(taken);
    const auto flying = static_cast<std::uint64_t>(taken * 5);
    sent += bytes;
    ReportSample sample;
    sample.now = now;
    sample.covered = bytes;
    sample.lost = lost;
    sample.in_flight = flying;
    sample.sent = sent;
    sample.newest_covered = sent - std::min(sent, flying);
    sample.newest_lost = lost > 0 ? sample.newest_covered : 0;
    sample.rate = taken / to_seconds(kStep);
    sample.rtt = kRtt + from_seconds(queue / link);
    sample.smoothed_rtt = kRtt;
    sample.report_interval = kStep;
    sample.application_limited = limited;
    daimd.on_report(sample);
  }
  // Out of slow start, and then so long that the next loss is a new episode.
  void start() {
    steps(40);
    report(1200);
    steps(10);
  }

  CongestionDaimd daimd;
  double link;  // bytes/s
  double queue = 0;
  bool limited = false;
  Time now = Time(seconds(1));
  std::uint64_t sent = 0;
};

TEST(CongestionDaimd, SlowStartGrowsByWhatIsCovered) {
  Sender sender(1e7);
  EXPECT_EQ(sender.daimd.window(), CongestionDaimd::kSparePackets * 1200);
  sender.steps(25);
  EXPECT_TRUE(sender.daimd.in_slow_start());
  EXPECT_GE(sender.daimd.pacing_rate(), 1e7);
}

TEST(CongestionDaimd, SlowStartEndsAtTheRateThatThePathTook) {
  Sender sender(1e7);
  sender.steps(60);
  sender.report(1200);
  EXPECT_FALSE(sender.daimd.in_slow_start());
  EXPECT_NEAR(sender.daimd.pacing_rate(), 1e7, 0.02e7);
}

// With nothing known to have been taken, what the window makes of the first round trip.
TEST(CongestionDaimd, SlowStartMayEndAtOnce) {
  CongestionDaimd daimd(1);
  ReportSample sample;
  sample.now = Time(seconds(1));
  sample.lost = sample.sent = sample.newest_lost = 1200;
  sample.smoothed_rtt = kRtt;
  sample.report_interval = kStep;
  daimd.on_report(sample);
  EXPECT_FALSE(daimd.in_slow_start());
  EXPECT_NEAR(daimd.pacing_rate(), 16 * 1200 / 0.06, 1);
}

// What lies before the end of slow start is no interval of growth.
TEST(CongestionDaimd, SilenceMayEndSlowStart) {
  Sender sender(1e9);
  sender.steps(5);
  const double before = sender.daimd.pacing_rate();
  sender.daimd.on_silence(sender.now);
  EXPECT_FALSE(sender.daimd.in_slow_start());
  EXPECT_LE(sender.daimd.pacing_rate(), before / 2);
  sender.report(0);
  EXPECT_LE(sender.daimd.pacing_rate(), before / 2 + 1500 / 0.01);
}

TEST(CongestionDaimd, AnEpisodeDividesTheRate) {
  Sender sender(1e9);
  sender.start();
  const double before = sender.daimd.pacing_rate();
  sender.report(1200);
  EXPECT_NEAR(sender.daimd.pacing_rate(), before / 1.125, 1);
}

// However many reports of loss an episode has, the rate keeps half of it.
TEST(CongestionDaimd, AtMostFiveCutsAnEpisode) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Sender sender(1e9, seed);
    sender.start();
    const double before = sender.daimd.pacing_rate();
    // All of it was sent before the first cut.
    ReportSample sample;
    sample.smoothed_rtt = kRtt;
    sample.report_interval = kStep;
    sample.lost = 1200;
    sample.sent = sender.sent + 1'000'000;
    sample.newest_lost = sender.sent;
    sample.now = sender.now;
    for (int i = 0; i < 100; ++i) sender.daimd.on_report(sample);
    EXPECT_GE(sender.daimd.pacing_rate(), before / std::pow(1.125, 5) - 1) << seed;
    EXPECT_LE(sender.daimd.pacing_rate(), before / 1.124) << seed;
  }
}

// Sessions that share a link do not cut in step.
TEST(CongestionDaimd, SeedsSpaceTheCutsDifferently) {
  std::set<long> rates;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Sender sender(1e9, seed);
    sender.start();
    for (int i = 0; i < 20; ++i) {
      for (int loss = 0; loss < 4; ++loss) sender.report(1200);
      sender.steps(10);
    }
    rates.insert(std::lround(sender.daimd.pacing_rate()));
  }
  EXPECT_GE(rates.size(), 5U);
}

// 80 Mbit/s free or less, and more than ten: 100 Mbit/s x 1.5e-6 = 150 bytes an interval more, each interval.
TEST(CongestionDaimd, TheIncreaseFollowsWhatIsFree) {
  Sender sender(1.25e7);
  sender.steps(60);
  sender.report(1200);
  sender.steps(30);
  // The queue showed the capacity; two episodes make some of it free.
  for (int i = 0; i < 2; ++i) {
    sender.report(1200);
    sender.queue = 0;
    sender.steps(8);
    sender.queue = 0;
  }
  const double before = sender.daimd.pacing_rate();
  ASSERT_LT(before, 1.25e7 - 1.25e6);
  EXPECT_NEAR(sender.daimd.capacity(), 1.25e7, 0.05e7);
  sender.steps(10);
  EXPECT_NEAR(sender.daimd.pacing_rate() - before, 10 * 150 / 0.01, 1);
}

TEST(CongestionDaimd, WhereNoQueueEverStoodThereIsRoom) {
  Sender sender(1e9);
  sender.start();
  EXPECT_NEAR(sender.daimd.capacity(), CongestionDaimd::kUnknownCapacity * sender.daimd.pacing_rate(), 1);
}

TEST(CongestionDaimd, AQueueSaysWhatTheCapacityIs) {
  Sender sender(1e7);
  sender.start();
  sender.steps(300);
  EXPECT_GT(sender.queue, 0);
  EXPECT_NEAR(sender.daimd.capacity(), 1e7, 0.05e7);
}

TEST(CongestionDaimd, AnIntervalWithALossBringsNoIncrease) {
  Sender sender(1e9);
  sender.start();
  // Of the old episode, which has had all its cuts after the first of these.
  ReportSample sample;
  sample.lost = 1200;
  sample.newest_lost = 1;
  sample.sent = sender.sent;
  sample.smoothed_rtt = kRtt;
  sample.report_interval = kStep;
  sample.now = sender.now;
  for (int i = 0; i < 50; ++i) sender.daimd.on_report(sample);
  const double before = sender.daimd.pacing_rate();
  for (int i = 0; i < 5; ++i) {
    sample.now += kStep;
    sender.daimd.on_report(sample);
  }
  EXPECT_EQ(sender.daimd.pacing_rate(), before);
  sample.lost = 0;
  sample.now += kStep;
  sender.daimd.on_report(sample);
  EXPECT_GT(sender.daimd.pacing_rate(), before);
}

TEST(CongestionDaimd, WhatIsNotMadeUseOfDoesNotGrow) {
  Sender sender(1e9);
  sender.start();
  sender.limited = true;
  sender.steps(1);
  const double before = sender.daimd.pacing_rate();
  sender.steps(200);
  EXPECT_EQ(sender.daimd.pacing_rate(), before);
}

TEST(CongestionDaimd, SilenceHalvesTheRate) {
  Sender sender(1e9);
  sender.start();
  const double before = sender.daimd.pacing_rate();
  sender.daimd.on_silence(sender.now);
  EXPECT_NEAR(sender.daimd.pacing_rate(), before / 2, 1);
}

}  // namespace
}  // namespace mcdtp
