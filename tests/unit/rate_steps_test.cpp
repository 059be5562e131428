#include "common/core/congestion/rate_steps.h"

#include <gtest/gtest.h>

#include <vector>

namespace mcdtp {
namespace {

constexpr double kRate = 1e6;
constexpr double kRound = 0.1;  // s

// The paces of `rounds` rounds, as multiples of kRate, on a path that takes `most`.
std::vector<double> paces(RateSteps& steps, int rounds, double most, RateSteps::Signs signs = {}) {
  std::vector<double> all;
  double rate = kRate;
  for (int round = 0; round < rounds; ++round) {
    const double pace = steps.next_pace(rate, signs);
    all.push_back(pace / kRate);
    rate = std::max(rate, std::min(pace, most));
    steps.on_round(1);
  }
  return all;
}

// Rounds until it tries more again.
int rest_of(RateSteps& steps) {
  int rounds = 0;
  for (; steps.rests(); ++rounds) steps.next_pace(kRate, {});
  return rounds;
}

void expect_near(const std::vector<double>& seen, const std::vector<double>& expected) {
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-6) << i;
}

TEST(RateSteps, EachThatPaysIsFollowedByALargerOne) {
  RateSteps steps;
  expect_near(paces(steps, 5, 1e9),
              {1.04, 1.04 * 1.12, 1.04 * 1.12 * 1.36, 1.04 * 1.12 * 1.36 * 2, 1.04 * 1.12 * 1.36 * 2 * 2});
  EXPECT_TRUE(steps.is_large());
}

TEST(RateSteps, OneThatDoesNotPayIsFollowedByASmallOne) {
  RateSteps steps;
  expect_near(paces(steps, 8, 1.04 * kRate), {1.04, 1.04 * 1.12, 1.04 * 1.12, 1.04 * 1.12, 1.04 * 1.12,
                                              1.04 * 1.04, 1.04 * 1.04, 1.04 * 1.04});
  EXPECT_FALSE(steps.is_large());
}

// The rate is known no better than that: where the delay wanders, say.
TEST(RateSteps, AfterOneThatNeitherShowedNorCostAnythingSmallOnesAreTakenToPay) {
  RateSteps steps;
  expect_near(paces(steps, 13, kRate, {.is_clean = true, .is_free = true}),
              {1.04, 1.04, 1.04, 1.04, 1.04, 1.04, 1.12, 1.12, 1.36, 1.36, 1.36, 1.36, 1.04});
}

TEST(RateSteps, LossOrAQueueTellThatOneWasTooMuch) {
  for (const bool by_queue : {false, true}) {
    RateSteps steps;
    paces(steps, 5, kRate, {.is_clean = true, .is_free = true});
    by_queue ? steps.see_queue() : steps.see_loss();
    EXPECT_NEAR(paces(steps, 2, kRate, {.is_clean = true, .is_free = true}).back(), 1.04, 1e-6) << by_queue;
  }
}

TEST(RateSteps, LossEndsALargeOne) {
  RateSteps steps;
  paces(steps, 3, 1e9);
  ASSERT_TRUE(steps.is_large());
  steps.see_loss();
  EXPECT_FALSE(steps.is_large());
}

TEST(RateSteps, NearTheCeilingThePaceRestsAndStepsAreSmall) {
  RateSteps steps;
  steps.found_ceiling(kRate, kRound);
  EXPECT_TRUE(steps.rests());
  const std::vector<double> rest(RateSteps::kRestRounds, 1);
  expect_near(paces(steps, RateSteps::kRestRounds, kRate), rest);
  EXPECT_FALSE(steps.rests());
  expect_near(paces(steps, 4, kRate), {1.04, 1.04, 1.04, 1.04});
  expect_near(paces(steps, 1, kRate), {1});
  EXPECT_TRUE(steps.rests() && steps.is_near_ceiling(kRate));
  steps.end_rest();
  expect_near(paces(steps, 3, 1e9), {1.04, 1.04 * 1.04, 1.04 * 1.04 * 1.04});
}

// Each step that finds it again costs what it sends too much.
TEST(RateSteps, ACeilingThatIsFoundAgainIsLeftAloneForLonger) {
  RateSteps steps;
  steps.found_ceiling(kRate, kRound);
  for (const int wanted : {8, 16, 30, 30}) {
    EXPECT_EQ(rest_of(steps), wanted);
    paces(steps, 2, kRate);
    steps.found_ceiling(0.95 * kRate, kRound);
    steps.found_ceiling(0.9 * kRate, kRound);  // by the same step
  }
  steps.end_rest();
  steps.found_ceiling(2 * kRate, kRound);
  EXPECT_EQ(rest_of(steps), RateSteps::kRestRounds);
}

TEST(RateSteps, LongRoundsMakeNoLongerRests) {
  RateSteps steps;
  for (int i = 0; i < 4; ++i) {
    steps.found_ceiling(kRate, 1);
    EXPECT_EQ(rest_of(steps), RateSteps::kRestRounds);
  }
}

TEST(RateSteps, WithoutLossItIsTheCeilingNoLonger) {
  RateSteps steps;
  steps.found_ceiling(kRate, kRound);
  paces(steps, RateSteps::kRestRounds + 5, kRate, {.is_clean = true});
  EXPECT_FALSE(steps.is_near_ceiling(kRate));
}

TEST(RateSteps, FarFromTheCeilingNothingHoldsThemBack) {
  RateSteps steps;
  steps.found_ceiling(2 * kRate, kRound);
  steps.end_rest();
  expect_near(paces(steps, 2, 1e9), {1.04, 1.04 * 1.12});
}

}  // namespace
}  // namespace mcdtp
