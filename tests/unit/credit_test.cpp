#include "common/core/credit.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

TEST(CreditWindow, RenewsByQuartersAndOnlyRises) {
  CreditWindow window(1000);
  EXPECT_EQ(window.limit(), 1000u);
  EXPECT_FALSE(window.renew(249));
  EXPECT_EQ(window.renew(250), 1250u);
  EXPECT_FALSE(window.renew(250));
  window.set_window(500);
  EXPECT_EQ(window.window(), 1000u);
  window.set_window(4000);
  EXPECT_EQ(window.renew(250), 4250u);
}

TEST(WindowTuner, GrowsWithWhatArrivesInARoundTrip) {
  WindowTuner tuner(kDefaultMemory);
  Time now{};
  now += seconds(1);
  tuner.on_arrived(now, 0, milliseconds(100));
  EXPECT_FALSE(tuner.on_arrived(now + milliseconds(50), 500'000, milliseconds(100)));
  EXPECT_TRUE(tuner.on_arrived(now + milliseconds(100), 500'000, milliseconds(100)));
  EXPECT_EQ(tuner.stream_window(), WindowTuner::kRounds * 1'000'000);
  EXPECT_EQ(tuner.session_window(), 4 * WindowTuner::kRounds * 1'000'000);
}

TEST(WindowTuner, MemoryIsTheCap) {
  WindowTuner tuner(kMinMemory);
  EXPECT_TRUE(tuner.on_arrived(Time{} + seconds(1), std::uint64_t{1} << 40, seconds(1)));
  EXPECT_EQ(tuner.stream_window(), kMinMemory / 4);
  EXPECT_EQ(tuner.session_window(), kMinMemory);
}

}  // namespace
}  // namespace mcdtp
