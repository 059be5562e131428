#include "common/core/congestion/rtt_probe.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr double kRound = 0.1;  // s
constexpr double kLost = 0.1;

Time at(double seconds) { return Time(from_seconds(seconds)); }

// Rounds until `until` seconds that do not come near the smallest RTT; the first is sent slower, and leaves the queue as it
// was.
void stay_away(RttProbe& probe, double from, double until, double lost = kLost, double rtt = 0.09) {
  bool left_as_was = true;
  for (double now = from; now < until; now += kRound) {
    probe.on_round(at(now), {false, left_as_was, true, lost, rtt});
    left_as_was = false;
  }
}

void meet(RttProbe& probe, double now) { probe.on_round(at(now), {true, false, true, kLost, 0.09}); }

RttProbe suspicious() {
  RttProbe probe;
  meet(probe, 102.1);
  stay_away(probe, 102.2, 103.5);
  return probe;
}

TEST(RttProbe, IsDueAtTheSameMomentsForAll) {
  const RttProbe probe = suspicious();
  EXPECT_FALSE(probe.is_due(at(103.9), kRound));
  EXPECT_TRUE(probe.is_due(at(104), kRound));
  EXPECT_TRUE(probe.is_due(at(104.19), kRound));
  EXPECT_FALSE(probe.is_due(at(104.21), kRound));
}

TEST(RttProbe, IsNoneWhereTheSmallestRttIsMetOrNextToNothingIsLost) {
  RttProbe met, lossless;
  meet(met, 100.1);
  meet(lossless, 100.1);
  for (int second = 100; second < 104; ++second) {
    stay_away(met, second + 0.2, second + 1);
    meet(met, second + 1);
  }
  stay_away(lossless, 100.2, 104, 0.01);
  EXPECT_FALSE(met.is_due(at(104), kRound));
  EXPECT_FALSE(lossless.is_due(at(104), kRound));
}

TEST(RttProbe, IsNoneWhereTheQueueFellWithWhatWasSent) {
  RttProbe probe;
  for (double now = 100.1; now < 103.9; now += kRound)
    probe.on_round(at(now), {false, false, true, kLost, 0.09});
  EXPECT_FALSE(probe.is_due(at(104), kRound));
  probe.on_round(at(103.9), {false, true, true, kLost, 0.09});
  EXPECT_TRUE(probe.is_due(at(104), kRound));
}

// A queue that is always full has always the same RTT, and that is taken for the smallest.
TEST(RttProbe, IsDueWhereNoQueueShowsAndMuchIsLost) {
  const auto is_due = [](int rounds, double lost, int queued_each) {
    RttProbe probe;
    for (int i = 1; i <= rounds; ++i)
      probe.on_round(at(101 + i * kRound), {true, false, i % queued_each == 0, lost, 0.09});
    return probe.is_due(at(104), kRound);
  };
  EXPECT_TRUE(is_due(16, kLost, 99));
  EXPECT_FALSE(is_due(15, kLost, 99));
  EXPECT_FALSE(is_due(29, kLost, 15)) << "a queue shows now and then";
  EXPECT_FALSE(is_due(29, 0.01, 99)) << "next to nothing is lost";
}

TEST(RttProbe, ComesTwiceAsSeldomUntilItFindsAShorterRtt) {
  RttProbe probe = suspicious();
  probe.begin(at(104), 0.09);
  stay_away(probe, 104.2, 107.9);
  EXPECT_FALSE(probe.is_due(at(108), kRound));
  EXPECT_TRUE(probe.is_due(at(112), kRound));
  probe.begin(at(112), 0.09);
  stay_away(probe, 112.2, 115.9, kLost, 0.05);
  // 48 rounds later at the earliest.
  EXPECT_FALSE(probe.is_due(at(116), kRound));
  EXPECT_TRUE(probe.is_due(at(120), kRound));
  EXPECT_TRUE(probe.is_due(at(116), kRound / 2));
}

TEST(RttProbe, KnowsWhatWasSentMeanwhile) {
  RttProbe probe;
  EXPECT_FALSE(probe.is_between(at(0), at(1)));
  probe.begin(at(104), 0.09);
  probe.end(at(104.1));
  EXPECT_FALSE(probe.is_between(at(103.8), at(103.9)));
  EXPECT_TRUE(probe.is_between(at(103.9), at(104)));
  EXPECT_TRUE(probe.is_between(at(104.1), at(104.2)));
  EXPECT_FALSE(probe.is_between(at(104.2), at(104.3)));
}

TEST(RttProbe, WhatIsLimitedSaysNothing) {
  RttProbe probe = suspicious();
  probe.on_limited_round();
  EXPECT_FALSE(probe.is_due(at(104), kRound));
  stay_away(probe, 107.1, 107.95);
  EXPECT_FALSE(probe.is_due(at(108), kRound));
  stay_away(probe, 108, 109);
  EXPECT_TRUE(probe.is_due(at(112), kRound));
}

}  // namespace
}  // namespace mcdtp
