#include "common/core/congestion/congestion_capped.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

TEST(CongestionCapped, IsTheSlowerOfTheTwo) {
  const double bytes_of_8m = 1e6 * 1200 / 1165;
  const CongestionCapped none(make_congestion("none", std::nullopt), 8'000'000);
  EXPECT_NEAR(none.pacing_rate(), bytes_of_8m, 1);
  EXPECT_EQ(none.quantum(milliseconds(100)), 2400.0);
  const CongestionCapped slow(make_congestion("fixed", 1'000'000), 8'000'000);
  EXPECT_NEAR(slow.pacing_rate(), bytes_of_8m / 8, 1);
  const CongestionCapped burst(make_congestion("fixed", 80'000'000, Pacing::kBurst), 8'000'000);
  EXPECT_NEAR(burst.pacing_rate(), bytes_of_8m, 1);
  EXPECT_EQ(burst.quantum(milliseconds(100)), 2400.0);
}

}  // namespace
}  // namespace mcdtp
