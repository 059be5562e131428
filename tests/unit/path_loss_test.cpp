#include "common/core/congestion/path_loss.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

// Rounds of 100 kB, of which a share of `loss` is lost.
void pass_rounds(PathLoss& path, int rounds, double loss) {
  for (int i = 0; i < rounds; ++i) path.on_round(1e5 * (1 - loss), 1e5 * loss);
}

TEST(PathLoss, IsMeasuredOnWhatIsSentQuietly) {
  PathLoss path;
  pass_rounds(path, 10, 0.1);
  EXPECT_EQ(path.own(), 0);
  for (int i = 0; i < 20; ++i) path.on_quiet(9e4, 1e4);
  EXPECT_NEAR(path.own(), 0.1, 0.01);
  EXPECT_NEAR(path.recent(), 0.1, 0.001);
  EXPECT_FALSE(path.is_congested(false));
}

TEST(PathLoss, OfFewQuietPacketsIsNoMoreThanIsLostOfAll) {
  PathLoss path;
  path.on_quiet(1e4, 5e4);
  EXPECT_EQ(path.own(), PathLoss::kMaxOwn);
  pass_rounds(path, 4, 0.02);
  EXPECT_EQ(path.own(), PathLoss::kMaxOwn) << "it may be chance";
  pass_rounds(path, 1, 0.02);
  EXPECT_NEAR(path.own(), 2 * 0.02 + PathLoss::kMargin / 2, 0.001);
  pass_rounds(path, 100, 0);
  EXPECT_LE(path.own(), PathLoss::kMargin / 2 + 0.001);
}

// Where much was sent quietly, chance has had its say.
TEST(PathLoss, OfManyQuietPacketsStays) {
  PathLoss path;
  for (int i = 0; i < 2; ++i) path.on_quiet(9e4, 1e4);
  const double own = path.own();
  pass_rounds(path, 10, 0.02);
  EXPECT_EQ(path.own(), own);
}

TEST(PathLoss, ACutForgetsWhatWasLostOfLate) {
  PathLoss path;
  pass_rounds(path, 10, 0.3);
  EXPECT_TRUE(path.is_congested(true));
  path.on_cut();
  pass_rounds(path, 2, 0.3);
  EXPECT_EQ(path.recent(), 0);
  EXPECT_NEAR(path.lately(), 0.3, 0.001);
  pass_rounds(path, 1, 0.01);
  EXPECT_NEAR(path.lately(), 0.01, 0.001);
}

}  // namespace
}  // namespace mcdtp
