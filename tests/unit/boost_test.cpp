#include "common/core/congestion/boost.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr double kTarget = 0.004;  // s
constexpr double kQueue = 0.001;
constexpr double kRound = 0.1;

Boost::Round round_with(double queue) { return {kTarget, queue, 0, kRound, false}; }

// The next step, after as many rounds as it takes.
double step(Boost& boost, const Boost::Round& round = round_with(kQueue)) {
  EXPECT_EQ(boost.next(round), 0);
  EXPECT_EQ(boost.next(round), 0);
  return boost.next(round);
}

TEST(Boost, BringsWhatIsMissing) {
  Boost boost;
  EXPECT_DOUBLE_EQ(step(boost), 1.2 * (kTarget - kQueue) / kRound);
}

TEST(Boost, ShowsAboveThePathsOwnUnrest) {
  Boost boost;
  Boost::Round round = round_with(kQueue);
  round.unrest = 0.01;
  EXPECT_DOUBLE_EQ(step(boost, round), (1.2 * (kTarget - kQueue) + 0.01) / kRound);
}

TEST(Boost, GrowsWhileItIsNotEnough) {
  Boost boost;
  const double first = step(boost);
  EXPECT_DOUBLE_EQ(step(boost), 4 * first);
  EXPECT_EQ(boost.next(round_with(kTarget)), 0);
  EXPECT_DOUBLE_EQ(step(boost), 4 * first);
  EXPECT_DOUBLE_EQ(step(boost), std::min(16 * first, 0.7 * (1 - kQueue / kTarget)));
  for (int i = 0; i < 100; ++i) EXPECT_LE(step(boost), 0.7 * (1 - kQueue / kTarget));
}

TEST(Boost, NeitherWithoutAQueueNorNearTheTarget) {
  for (const double queue : {0.0, 0.09 * kTarget, 0.85 * kTarget, 2 * kTarget}) {
    Boost boost;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(boost.next(round_with(queue)), 0) << queue;
  }
}

TEST(Boost, NotWhileMoreIsLost) {
  Boost boost;
  Boost::Round lossy = round_with(kQueue);
  lossy.loses_more = true;
  boost.next(round_with(kQueue));
  boost.next(round_with(kQueue));
  EXPECT_EQ(boost.next(lossy), 0);
  EXPECT_GT(step(boost), 0);
}

}  // namespace
}  // namespace mcdtp
