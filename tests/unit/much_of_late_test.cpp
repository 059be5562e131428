#include "common/core/much_of_late.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

// Whether so many bytes a second are much, as they come in 10 ms each.
bool is_much(std::uint64_t rate) {
  MuchOfLate taken;
  Time now = Time{} + seconds(100);
  std::uint64_t total = 12345;
  for (int i = 0; i < 300; ++i, now += milliseconds(10)) taken.note(now, total += rate / 100);
  return taken.is_much(now);
}

TEST(MuchOfLate, IsOneMegabitASecond) {
  EXPECT_FALSE(is_much(0));
  EXPECT_FALSE(is_much(100'000));
  EXPECT_TRUE(is_much(140'000));
  EXPECT_TRUE(is_much(100'000'000));
}

TEST(MuchOfLate, NotForLong) {
  MuchOfLate taken;
  const Time now = Time{} + seconds(100);
  EXPECT_FALSE(taken.is_much(now)) << "nothing is known";
  taken.note(now, 0);
  taken.note(now + milliseconds(10), 1'000'000);
  EXPECT_TRUE(taken.is_much(now + milliseconds(10)));
  taken.note(now + milliseconds(600), 1'000'000);
  EXPECT_TRUE(taken.is_much(now + milliseconds(900)));
  EXPECT_FALSE(taken.is_much(now + milliseconds(1100)));
}

}  // namespace
}  // namespace mcdtp
