#include "common/core/quick_variation.h"

#include <gtest/gtest.h>

#include "common/core/loss.h"

namespace mcdtp {
namespace {

TEST(QuickVariation, OfOneSampleIsAsRttvar) {
  QuickVariation variation;
  EXPECT_EQ(variation.get(), Duration{});
  variation.on_sample(milliseconds(40));
  EXPECT_EQ(variation.get(), milliseconds(20));
}

// What grows for a round or more moves it less than a third as much as rttvar; what jumps to and fro does as much.
TEST(QuickVariation, SaysLittleOfAQueueThatGrows) {
  QuickVariation variation;
  RttEstimator rtt;
  Duration sample = milliseconds(50);
  for (int i = 0; i < 60; ++i, sample += milliseconds(1)) {
    variation.on_sample(sample);
    rtt.on_sample(sample);
  }
  EXPECT_LE(variation.get(), milliseconds(2) + microseconds(1));
  EXPECT_GE(rtt.variation(), 3 * variation.get());
}

TEST(QuickVariation, SaysAllOfAnRttThatJumps) {
  QuickVariation variation;
  RttEstimator rtt;
  for (int i = 0; i < 60; ++i) {
    const Duration sample = milliseconds(i / 2 % 2 == 0 ? 50 : 60);
    variation.on_sample(sample);
    rtt.on_sample(sample);
  }
  EXPECT_GE(variation.get(), rtt.variation());
}

}  // namespace
}  // namespace mcdtp
