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

class Eager : public CongestionController {
  void on_report(const ReportSample&) override {}
  void on_silence(Time) override {}
  double pacing_rate() const override { return 1e6; }
  std::uint64_t window() const override { return kInitialWindow; }
  Duration catch_up(Duration rtt) const override { return 2 * rtt; }
};

TEST(CongestionCapped, MakesUpForWhatTheOtherDoes) {
  const CongestionCapped capped(std::make_unique<Eager>(), 8'000'000);
  EXPECT_EQ(capped.catch_up(milliseconds(30)), milliseconds(60));
}

}  // namespace
}  // namespace mcdtp
