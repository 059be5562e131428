#include "common/core/congestion/settling.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr double kRound = 0.02;  // s

TEST(Settling, OnALongPathAQueueIsOneAtOnce) {
  Settling settling;
  settling.on_round(true, kRound, false, false);
  EXPECT_TRUE(settling.is_over());
  EXPECT_EQ(settling.part_of_round(), 1);
}

TEST(Settling, OnAShortPathItHasToStandAndCountsUntilItIsGone) {
  Settling settling;
  for (int i = 0; i < 14; ++i) settling.on_round(true, kRound, true, false);
  EXPECT_FALSE(settling.is_over());
  EXPECT_DOUBLE_EQ(settling.part_of_round(), kRound / 0.3);
  settling.on_round(true, 1.5 * kRound, true, false);
  EXPECT_TRUE(settling.is_over());
  settling.on_round(false, kRound, true, false);
  EXPECT_FALSE(settling.is_over());
  settling.on_round(true, kRound, true, false);
  EXPECT_FALSE(settling.is_over()) << "it begins anew";
}

TEST(Settling, TheLongestOfLateSettlesSoonerAndStaysSettled) {
  Settling settling;
  for (int i = 0; i < 3; ++i) settling.on_round(true, kRound, true, true);
  EXPECT_TRUE(settling.is_over());
  settling.on_round(true, kRound, true, false);
  EXPECT_TRUE(settling.is_over());
}

}  // namespace
}  // namespace mcdtp
