#include "common/core/congestion/queue_delay.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr Duration kRtt = milliseconds(50);
constexpr double kTarget = 0.01;  // s

// A path whose queue was once 20 ms long, in a round of its own; then a round with `queue`.
QueueDelay with_queue(Duration queue) {
  QueueDelay delay;
  delay.on_rtt(Time(seconds(1)), kRtt);
  delay.end_round();
  delay.on_rtt(Time(seconds(2)), kRtt + milliseconds(20));
  delay.end_round();
  delay.on_rtt(Time(seconds(3)), kRtt + queue);
  return delay;
}

TEST(QueueDelay, IsTheRoundsSmallestRttBeyondTheSmallestOfLate) {
  QueueDelay delay = with_queue(milliseconds(8));
  delay.on_rtt(Time(seconds(3)), kRtt + milliseconds(30));
  EXPECT_DOUBLE_EQ(delay.round(), 0.008);
  EXPECT_DOUBLE_EQ(delay.longest(), 0.02);
  EXPECT_EQ(delay.min_rtt(), kRtt);
}

TEST(QueueDelay, KnowsTheLargestRttOfTheRoundBefore) {
  QueueDelay delay;
  delay.on_rtt(Time(seconds(1)), kRtt);
  delay.on_rtt(Time(seconds(1)), kRtt + milliseconds(30));
  EXPECT_EQ(delay.largest_before(), 0);
  delay.end_round();
  EXPECT_DOUBLE_EQ(delay.largest_before(), 0.03);
  delay.on_rtt(Time(seconds(2)), kRtt + milliseconds(5));
  EXPECT_DOUBLE_EQ(delay.largest_before(), 0.03);
  delay.end_round();
  EXPECT_DOUBLE_EQ(delay.largest_before(), 0.005);
}

TEST(QueueDelay, IsJudgedByTheLongestOfLate) {
  EXPECT_TRUE(with_queue(milliseconds(1)).is_empty());
  EXPECT_FALSE(with_queue(milliseconds(3)).is_empty());
  EXPECT_TRUE(with_queue(milliseconds(6)).is_short());
  EXPECT_FALSE(with_queue(milliseconds(7)).is_short());
  EXPECT_FALSE(with_queue(milliseconds(16)).is_full());
  EXPECT_TRUE(with_queue(milliseconds(17)).is_full());
  EXPECT_FALSE(with_queue(milliseconds(20)).is_longest());
  EXPECT_TRUE(with_queue(milliseconds(21)).is_longest());
}

// It holds at least what was seen to wait in it.
TEST(QueueDelay, TheBufferIsTheLongestOnceOneOverflowed) {
  QueueDelay delay = with_queue(milliseconds(8));
  EXPECT_EQ(delay.buffer(), 0);
  delay.on_rtt(Time(seconds(3)), kRtt + milliseconds(17));
  delay.note_overflow();
  EXPECT_DOUBLE_EQ(delay.buffer(), 0.02);
  delay.on_rtt(Time(seconds(3)), kRtt + milliseconds(25));
  delay.note_overflow();
  EXPECT_DOUBLE_EQ(delay.buffer(), 0.025);
}

TEST(QueueDelay, ForgetsABuffer) {
  QueueDelay delay = with_queue(milliseconds(20));
  delay.note_overflow();
  QueueDelay was_none = delay;
  was_none.forget_queues();
  EXPECT_EQ(was_none.buffer(), 0);
  for (int lives : {1, 2}) delay.on_rtt(Time(seconds(3) + lives * QueueDelay::kLife), kRtt);
  EXPECT_EQ(delay.buffer(), 0);
}

TEST(QueueDelay, IsJudgedByATarget) {
  EXPECT_FALSE(with_queue(milliseconds(5)).is_above_half(kTarget));
  EXPECT_TRUE(with_queue(milliseconds(6)).is_above_half(kTarget));
  EXPECT_FALSE(with_queue(milliseconds(17)).is_crowded(kTarget));
  EXPECT_TRUE(with_queue(milliseconds(18)).is_crowded(kTarget));
}

// A calm channel, or two calm rounds of seven: the rest is our own doing.
TEST(QueueDelay, WhatChangesWithinEachRoundIsNoQueue) {
  const auto after = [](int calm_rounds) {
    QueueDelay delay;
    delay.on_rtt(Time(seconds(1)), kRtt);
    for (int round = 0; round < 7; ++round) {
      delay.on_rtt(Time(seconds(2)), kRtt + milliseconds(9), milliseconds(3));
      delay.on_rtt(Time(seconds(2)), kRtt + milliseconds(9), milliseconds(round < calm_rounds ? 1 : 4));
      delay.end_round();
    }
    delay.on_rtt(Time(seconds(3)), kRtt + milliseconds(9), milliseconds(3));
    return delay;
  };
  EXPECT_DOUBLE_EQ(after(1).standing(kTarget), 0.009 - (4 * 0.003 - 0.75 * kTarget));
  EXPECT_FALSE(after(1).is_above_half(kTarget));
  EXPECT_TRUE(after(1).is_short());
  EXPECT_DOUBLE_EQ(after(2).standing(kTarget), 0.009);
  EXPECT_TRUE(after(2).is_above_half(kTarget));
  EXPECT_FALSE(after(2).is_short());
}

TEST(QueueDelay, IsCalmWhereRttsHardlyMoveWithinARound) {
  QueueDelay delay;
  delay.on_rtt(Time(seconds(1)), kRtt);
  for (int round = 0; round < 7; ++round) {
    delay.on_rtt(Time(seconds(2)), kRtt + milliseconds(9), milliseconds(3));
    delay.end_round();
  }
  EXPECT_FALSE(delay.is_calm());
  EXPECT_TRUE(with_queue(milliseconds(9)).is_calm()) << "a long queue that does not move";
}

TEST(QueueDelay, WasSeenWhereItWasLongerThanHostsMakeIt) {
  EXPECT_TRUE(with_queue({}).was_seen(kTarget));
  QueueDelay delay;
  delay.on_rtt(Time(seconds(1)), kRtt);
  delay.end_round();
  delay.on_rtt(Time(seconds(2)), kRtt + milliseconds(1));
  delay.end_round();
  EXPECT_FALSE(delay.was_seen(kTarget));
  EXPECT_TRUE(delay.was_seen(0.001)) << "a target as small as that";
}

// What was taken for the path's own RTT was that of a queue: then the path is not known to be empty.
TEST(QueueDelay, AShorterRttThanAllBeforeIsNoEmptyQueue) {
  QueueDelay delay = with_queue({});
  EXPECT_TRUE(delay.is_empty());
  delay.on_rtt(Time(seconds(3)), kRtt - milliseconds(5));
  EXPECT_TRUE(delay.found_shorter());
  EXPECT_FALSE(delay.is_empty());
  delay.end_round();
  EXPECT_FALSE(delay.found_shorter());
}

}  // namespace
}  // namespace mcdtp
