#include "common/core/congestion/congestion_none.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mcdtp {
namespace {

TEST(CongestionNone, NothingHoldsItBack) {
  CongestionNone none;
  ReportSample sample;
  sample.lost = 1'000'000;
  sample.rtt = sample.smoothed_rtt = seconds(10);
  for (int i = 0; i < 10; ++i) {
    none.on_report(sample);
    none.on_silence(Time(seconds(i)));
  }
  EXPECT_TRUE(std::isinf(none.pacing_rate()));
  EXPECT_GE(none.window(), std::uint64_t{1} << 60);
  EXPECT_EQ(none.quantum(milliseconds(100)), 65536);
}

}  // namespace
}  // namespace mcdtp
