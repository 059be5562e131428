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
  EXPECT_EQ(catch_up.get(kUsual), CatchUp::kMost / 2);
  miss(catch_up, kStart + 29s, 100);
  EXPECT_EQ(catch_up.get(kUsual), CatchUp::kMost * 3 / 4);
  miss(catch_up, kStart + 31s, 100);
  EXPECT_EQ(catch_up.get(kUsual), CatchUp::kMost);
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
