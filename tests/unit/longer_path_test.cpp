#include "common/core/congestion/longer_path.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr Duration kBefore = milliseconds(50);

TEST(LongerPath, IsSureOfThreeTimesTheSame) {
  LongerPath path;
  path.begin(0.01);
  path.note(milliseconds(90), 0.01);
  EXPECT_FALSE(path.is_likely());
  path.note(milliseconds(91), 0.02);
  EXPECT_TRUE(path.is_likely());
  EXPECT_FALSE(path.is_sure(kBefore));
  path.note(milliseconds(90) - microseconds(500), 0);
  EXPECT_TRUE(path.is_sure(kBefore));
  EXPECT_EQ(path.rtt(), milliseconds(90) - microseconds(500));
  EXPECT_FALSE(path.is_sure(milliseconds(89))) << "it is that already";
}

TEST(LongerPath, AQueueOfOthersMoves) {
  LongerPath path;
  path.begin(0);
  for (const int rtt : {90, 94, 90, 94, 97, 97, 90, 90}) {
    path.note(milliseconds(rtt), 0);
    EXPECT_FALSE(path.is_sure(kBefore)) << rtt;
  }
}

TEST(LongerPath, AQueueThatManyKeepFullLosesMore) {
  LongerPath path;
  path.begin(0.01);
  for (int i = 0; i < 10; ++i) path.note(milliseconds(90), 0.05);
  EXPECT_FALSE(path.is_sure(kBefore));
  for (int i = 0; i < 3; ++i) path.note(milliseconds(90), 0.01);
  EXPECT_TRUE(path.is_sure(kBefore));
}

}  // namespace
}  // namespace mcdtp
