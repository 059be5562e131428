#include "common/core/congestion/still_queue.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr double kRate = 1e6;

// Rounds of 60 ms, each of which sends a tenth less, `more` longer than the last.
StillQueue after_giving_way(int rounds, Duration more = {}) {
  StillQueue queue;
  double rate = kRate;
  for (int i = 0; i < rounds; ++i, rate *= 0.9) queue.on_round(milliseconds(60) + i * more, rate);
  return queue;
}

TEST(StillQueue, IsNoneWhereItStaysAlthoughWeGiveWay) {
  EXPECT_FALSE(after_giving_way(4).is_none());
  const StillQueue queue = after_giving_way(8, microseconds(50));
  ASSERT_TRUE(queue.is_none());
  EXPECT_EQ(queue.rtt(), milliseconds(60));
}

TEST(StillQueue, IsOneWhereItMoves) {
  EXPECT_FALSE(after_giving_way(20, milliseconds(1)).is_none());
  EXPECT_FALSE(after_giving_way(20, -milliseconds(1)).is_none());
}

TEST(StillQueue, MayBeOursWhereWeSendAsMuch) {
  StillQueue queue;
  for (int i = 0; i < 100; ++i) queue.on_round(milliseconds(60), kRate);
  EXPECT_FALSE(queue.is_none());
}

TEST(StillQueue, BeginsAgainOnceForgotten) {
  StillQueue queue = after_giving_way(8);
  queue.forget();
  EXPECT_FALSE(queue.is_none());
  for (int i = 0; i < 8; ++i) queue.on_round(milliseconds(90), kRate / 10);
  EXPECT_FALSE(queue.is_none());
}

}  // namespace
}  // namespace mcdtp
