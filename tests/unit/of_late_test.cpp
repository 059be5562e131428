#include "common/core/of_late.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

TEST(OfLate, KeepsTheExtreme) {
  SmallestOfLate<int> smallest(seconds(10), 1000);
  LargestOfLate<int> largest(seconds(10), -1);
  EXPECT_EQ(smallest.get(), 1000);
  EXPECT_EQ(largest.get(), -1);
  for (const int value : {5, 3, 7}) {
    smallest.note(value);
    largest.note(value);
  }
  EXPECT_EQ(smallest.get(), 3);
  EXPECT_EQ(largest.get(), 7);
}

TEST(OfLate, ForgetsAValueAfterHalfALifeToAWholeOne) {
  SmallestOfLate<int> smallest(seconds(10), 1000);
  const Time begin(seconds(100));
  smallest.tell_time(begin);
  smallest.note(3);
  smallest.tell_time(begin + seconds(5));
  smallest.note(8);
  EXPECT_EQ(smallest.get(), 3) << "half a life, and no more";
  smallest.tell_time(begin + seconds(6));
  smallest.note(9);
  EXPECT_EQ(smallest.get(), 3) << "of the half before";
  smallest.tell_time(begin + seconds(12));
  EXPECT_EQ(smallest.get(), 9);
  smallest.tell_time(begin + seconds(18));
  EXPECT_EQ(smallest.get(), 1000);
}

}  // namespace
}  // namespace mcdtp
