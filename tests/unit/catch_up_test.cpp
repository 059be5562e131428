#include "common/core/congestion/catch_up.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

using namespace std::chrono_literals;

constexpr Time kStart = Time(seconds(100));
constexpr Duration kUsual = 12ms;

void miss(CatchUp& catch_up, Time from, int rounds) {
  for (int i = 0; i < rounds; ++i) catch_up.on_round_that_missed(from, kUsual, false);
}

TEST(CatchUp, IsTheUsualUntilMoreIsMissed) { EXPECT_EQ(CatchUp().get(kUsual), kUsual); }

TEST(CatchUp, GrowsWhileNothingIsLostOfIt) {
  CatchUp catch_up;
  miss(catch_up, kStart, 1);
  EXPECT_EQ(catch_up.get(kUsual), 13500us);
  miss(catch_up, kStart, 100);
  EXPECT_EQ(catch_up.get(kUsual), CatchUp::kMost);
}

TEST(CatchUp, WhatWasLostIsNotTriedAgainForAWhile) {
  CatchUp catch_up;
  miss(catch_up, kStart, 100);
  catch_up.on_round_that_missed(kStart, kUsual, true);
  EXPECT_EQ(catch_up.get(kUsual), CatchUp::kMost * 7 / 8);
  miss(catch_up, kStart + 9s, 100);
  EXPECT_EQ(catch_up.get(kUsual), CatchUp::kMost * 7 / 8);
  miss(catch_up, kStart + 11s, 100);
  EXPECT_EQ(catch_up.get(kUsual), CatchUp::kMost);
}

TEST(CatchUp, LossesOfTheBurstBeforeItGrewAreOfThat) {
  CatchUp catch_up;
  miss(catch_up, kStart, 3);
  const Duration before = catch_up.get(kUsual);
  miss(catch_up, kStart, 1);
  catch_up.on_round_that_missed(kStart, kUsual, true);
  EXPECT_EQ(catch_up.get(kUsual), before * 7 / 8);
}

// Some of them are known a round later.
TEST(CatchUp, LossesOfOneBurstCountOnce) {
  CatchUp catch_up;
  miss(catch_up, kStart, 100);
  for (int i = 0; i < 2; ++i) catch_up.on_round_that_missed(kStart, kUsual, true);
  EXPECT_EQ(catch_up.get(kUsual), CatchUp::kMost * 7 / 8);
  catch_up.on_round_that_missed(kStart, kUsual, true);
  EXPECT_EQ(catch_up.get(kUsual), CatchUp::kMost * 7 / 8 * 7 / 8);
}

// As those of a start-up: what is always made up for is not to blame.
TEST(CatchUp, LossesWithoutMoreSayNothing) {
  CatchUp catch_up;
  catch_up.on_round_that_missed(kStart, kUsual, true);
  EXPECT_EQ(catch_up.get(kUsual), kUsual);
  miss(catch_up, kStart, 100);
  EXPECT_EQ(catch_up.get(kUsual), CatchUp::kMost);
}

TEST(CatchUp, IsNeverLessThanTheUsual) {
  CatchUp catch_up;
  miss(catch_up, kStart, 1);
  catch_up.on_round_that_missed(kStart, kUsual, true);
  EXPECT_EQ(catch_up.get(kUsual), kUsual);
}

}  // namespace
}  // namespace mcdtp
