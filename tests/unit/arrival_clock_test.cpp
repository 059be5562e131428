#include "common/io/arrival_clock.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr Time kBegin = Time(seconds(500));
constexpr std::int64_t kWallBegin = 1'800'000'000;

timespec wall(Duration since_begin) {
  const Duration all = seconds(kWallBegin) + since_begin;
  return {all / seconds(1), (all % seconds(1)).count()};
}

// Read at kBegin, and again `later`, when the wall clock had been set by `step`.
ArrivalClock read_again(Duration later, Duration step = {}) {
  ArrivalClock clock;
  clock.on_read(kBegin, wall({}));
  clock.on_read(kBegin + later, wall(later + step));
  return clock;
}

TEST(ArrivalClock, TellsWhenWhatWaitedCame) {
  const ArrivalClock clock = read_again(milliseconds(80));
  EXPECT_EQ(clock.arrived(wall(milliseconds(3))), kBegin + milliseconds(3));
  EXPECT_EQ(clock.arrived(), kBegin + milliseconds(80));
  EXPECT_EQ(read_again(seconds(9000)).arrived(wall(seconds(1))), kBegin + seconds(1));
}

TEST(ArrivalClock, NothingCameAfterItWasRead) {
  EXPECT_EQ(read_again(milliseconds(80)).arrived(wall(milliseconds(81))), kBegin + milliseconds(80));
}

// Or the machine slept, through which our clock stands still.
TEST(ArrivalClock, AStampOfAWallClockThatWasSetSaysNothing) {
  for (const Duration step : {Duration(seconds(3600)), Duration(-seconds(3600)), Duration(milliseconds(5))}) {
    ArrivalClock clock = read_again(milliseconds(80), step);
    EXPECT_EQ(clock.arrived(wall(milliseconds(3))), kBegin + milliseconds(80)) << step.count();
    clock.on_read(kBegin + milliseconds(100), wall(milliseconds(100) + step));
    EXPECT_EQ(clock.arrived(wall(milliseconds(90) + step)), kBegin + milliseconds(90)) << step.count();
    EXPECT_EQ(clock.arrived(wall(milliseconds(3))), kBegin + milliseconds(100))
        << step.count() << ": of before it, read later";
  }
}

}  // namespace
}  // namespace mcdtp
