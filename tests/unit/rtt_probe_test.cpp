#include "common/core/rtt_probe.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr double kRound = 0.1;  // s
constexpr double kLost = 0.1;

Time at(double seconds) { return Time(from_seconds(seconds)); }

// Rounds until `until` seconds that do not come near the smallest RTT, the first of them sent somewhat slower.
void stay_away(RttProbe& probe, double from, double until, double lost = kLost, double rtt = 0.09) {
  bool was_slow = true;
  for (double now = from; now < until; now += kRound) {
    probe.on_round(at(now), false, was_slow, lost, rtt);
    was_slow = false;
  }
}

RttProbe suspicious() {
  RttProbe probe;
  probe.on_round(at(100.1), true, false, kLost, 0.09);
  stay_away(probe, 100.2, 100.9);
  return probe;
}

TEST(RttProbe, IsDueAtTheSameMomentsForAll) {
  const RttProbe probe = suspicious();
  EXPECT_FALSE(probe.is_due(at(100.95), kRound));
  EXPECT_TRUE(probe.is_due(at(101), kRound));
  EXPECT_TRUE(probe.is_due(at(101.19), kRound));
  EXPECT_FALSE(probe.is_due(at(101.21), kRound));
}

TEST(RttProbe, IsNoneWhereTheSmallestRttIsMetOrNextToNothingIsLost) {
  RttProbe met, lossless;
  met.on_round(at(100.1), true, false, kLost, 0.09);
  lossless.on_round(at(100.1), true, false, kLost, 0.09);
  for (double now = 100.1; now < 103.9; now += 0.5) {
    stay_away(met, now + 0.1, now + 0.5);
    met.on_round(at(now + 0.5), true, false, kLost, 0.09);
  }
  stay_away(lossless, 100.2, 104, 0.01);
  EXPECT_FALSE(met.is_due(at(104), kRound));
  EXPECT_FALSE(lossless.is_due(at(104), kRound));
}

TEST(RttProbe, IsNoneWhereNoRoundWasSentSlower) {
  RttProbe probe;
  for (double now = 100.1; now < 101.9; now += kRound) probe.on_round(at(now), false, false, kLost, 0.09);
  EXPECT_FALSE(probe.is_due(at(102), kRound));
  probe.on_round(at(101.9), false, true, kLost, 0.09);
  EXPECT_TRUE(probe.is_due(at(102), kRound));
}

TEST(RttProbe, ComesMoreSeldomUntilItFindsAShorterRtt) {
  constexpr double kShort = kRound / 8;
  RttProbe probe = suspicious();
  probe.begin(at(101), 0.09);
  stay_away(probe, 101.2, 102.9);
  EXPECT_FALSE(probe.is_due(at(102), kShort));
  EXPECT_TRUE(probe.is_due(at(104), kShort));
  // 48 rounds later at the earliest.
  EXPECT_FALSE(probe.is_due(at(104), kRound));
  EXPECT_TRUE(probe.is_due(at(104), kRound / 2));
  EXPECT_TRUE(probe.is_due(at(112), kRound));
  probe.begin(at(112), 0.09);
  stay_away(probe, 112.2, 114.9);
  EXPECT_FALSE(probe.is_due(at(120), kShort));
  EXPECT_TRUE(probe.is_due(at(128), kShort));
  stay_away(probe, 114.9, 115.9, kLost, 0.05);
  EXPECT_TRUE(probe.is_due(at(121), kShort));
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
  EXPECT_FALSE(probe.is_due(at(101), kRound));
  stay_away(probe, 101.6, 102.05);
  EXPECT_FALSE(probe.is_due(at(102.1), kRound));
  stay_away(probe, 102.1, 102.9);
  EXPECT_TRUE(probe.is_due(at(103), kRound));
}

}  // namespace
}  // namespace mcdtp
