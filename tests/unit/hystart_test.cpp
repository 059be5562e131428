#include "common/core/congestion/hystart.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

void round(HyStart& start, Duration rtt) {
  for (int i = 0; i < HyStart::kSamples; ++i) start.on_rtt(rtt);
  start.end_round();
}

TEST(HyStart, GoesOnWhileNoQueueShows) {
  HyStart start;
  for (int i = 0; i < 20; ++i) round(start, milliseconds(50));
  EXPECT_EQ(start.growth(), 1);
  EXPECT_FALSE(start.done());
}

TEST(HyStart, IsDoneSomeRoundsAfterAQueueShows) {
  HyStart start;
  round(start, milliseconds(50));
  // Less than an eighth above the last round.
  round(start, milliseconds(56));
  EXPECT_EQ(start.growth(), 1);
  round(start, milliseconds(64));
  EXPECT_EQ(start.growth(), 0.25);
  for (int i = 1; i < HyStart::kCautiousRounds; ++i) {
    EXPECT_FALSE(start.done());
    round(start, milliseconds(64));
  }
  EXPECT_TRUE(start.done());
}

TEST(HyStart, WhatWasNoQueueIsForgotten) {
  HyStart start;
  round(start, milliseconds(50));
  round(start, milliseconds(80));
  EXPECT_EQ(start.growth(), 0.25);
  round(start, milliseconds(52));
  EXPECT_EQ(start.growth(), 1);
  for (int i = 0; i < 10; ++i) round(start, milliseconds(52));
  EXPECT_FALSE(start.done());
}

TEST(HyStart, FewSamplesSayNothing) {
  HyStart start;
  round(start, milliseconds(50));
  for (int i = 1; i < HyStart::kSamples; ++i) start.on_rtt(milliseconds(500));
  EXPECT_EQ(start.growth(), 1);
}

// On a short path four milliseconds more are no queue yet, on a long one sixteen are.
TEST(HyStart, TheThresholdHasBounds) {
  HyStart quick;
  round(quick, milliseconds(1));
  round(quick, microseconds(4900));
  EXPECT_EQ(quick.growth(), 1);
  HyStart slow;
  round(slow, milliseconds(300));
  round(slow, milliseconds(316));
  EXPECT_EQ(slow.growth(), 0.25);
}

}  // namespace
}  // namespace mcdtp
