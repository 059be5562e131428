#include "common/core/rtt_probe.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr double kRound = 0.1;  // s
constexpr double kLost = 0.1;

Time at(double seconds) { return Time(from_seconds(seconds)); }

// Rounds until `until` seconds that do not come near the smallest RTT.
void stay_away(RttProbe& probe, double from, double until, double lost = kLost, double rtt = 0.09) {
  for (double now = from; now < until; now += kRound) probe.on_round(at(now), false, lost, rtt);
}

RttProbe suspicious() {
  RttProbe probe;
  probe.on_round(at(100.1), true, kLost, 0.09);
  stay_away(probe, 100.2, 103.5);
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
  met.on_round(at(100.1), true, kLost, 0.09);
  lossless.on_round(at(100.1), true, kLost, 0.09);
  for (int second = 100; second < 104; ++second) {
    stay_away(met, second + 0.2, second + 1);
    met.on_round(at(second + 1), true, kLost, 0.09);
  }
  stay_away(lossless, 100.2, 104, 0.01);
  EXPECT_FALSE(met.is_due(at(104), kRound));
  EXPECT_FALSE(lossless.is_due(at(104), kRound));
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
  stay_away(probe, 104.1, 105.9);
  EXPECT_FALSE(probe.is_due(at(108), kRound));
  stay_away(probe, 105.9, 107.5);
  EXPECT_TRUE(probe.is_due(at(108), kRound));
}

}  // namespace
}  // namespace mcdtp
