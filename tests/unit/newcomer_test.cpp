#include "common/core/congestion/newcomer.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

// For how many rounds it waits for a queue that is `factor` times as long each round, of at most 40.
int rounds_waited(double factor) {
  Newcomer newcomer;
  double queue = 0.1;
  int rounds = 0;
  for (; rounds < 40; ++rounds, queue *= factor) {
    newcomer.on_round(false);
    if (!newcomer.waits(queue)) break;
  }
  return rounds;
}

TEST(Newcomer, WaitsWhileOthersGiveWayButNotForLong) { EXPECT_EQ(rounds_waited(0.85), 16); }

TEST(Newcomer, DoesNotWaitForAQueueThatStays) {
  EXPECT_EQ(rounds_waited(1), 6);
  EXPECT_EQ(rounds_waited(0.995), 6);
}

TEST(Newcomer, NorForOneThatGrows) { EXPECT_EQ(rounds_waited(2), 2); }

// It is longer after a slower round than in it.
TEST(Newcomer, OneLongerOneIsNoGrowth) {
  Newcomer newcomer;
  newcomer.on_round(false);
  for (const double queue : {0.1, 0.06, 0.1, 0.08, 0.08}) EXPECT_TRUE(newcomer.waits(queue)) << queue;
}

TEST(Newcomer, NorForItsOwn) {
  Newcomer newcomer;
  newcomer.on_round(false);
  EXPECT_TRUE(newcomer.waits(0.1));
  newcomer.on_round(true);
  EXPECT_FALSE(newcomer.waits(0.05));
  newcomer.on_round(false);
  EXPECT_FALSE(newcomer.waits(0.02));
}

TEST(Newcomer, IsOneOfThoseThereBeforeAfterSomeRounds) {
  Newcomer newcomer;
  for (int round = 0; round < 16; ++round) newcomer.on_round(false);
  EXPECT_TRUE(newcomer.waits(0.1));
  newcomer.on_round(false);
  EXPECT_FALSE(newcomer.waits(0.05));
}

}  // namespace
}  // namespace mcdtp
