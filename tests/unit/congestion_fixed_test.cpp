#include "common/core/congestion/congestion_fixed.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr double kRate = 10e6 / 8 * 1200 / 1165;  // bytes/s of datagrams for 10 Mbit/s of payload

// Reports of 10 ms each with `loss` of what was sent, for `length` from `now` on.
Time feed(CongestionFixed& fixed, Time now, double loss, Duration length) {
  for (const Time end = now + length; now < end; now += milliseconds(10)) {
    ReportSample sample;
    sample.now = now;
    sample.covered = static_cast<std::uint64_t>(12000 * (1 - loss));
    sample.lost = static_cast<std::uint64_t>(12000 * loss);
    sample.smoothed_rtt = milliseconds(100);
    sample.report_interval = milliseconds(25);
    fixed.on_report(sample);
  }
  return now;
}

TEST(CongestionFixed, SendsAtItsRate) {
  CongestionFixed fixed(10'000'000);
  EXPECT_NEAR(fixed.pacing_rate(), kRate, 1);
  feed(fixed, Time(seconds(1)), 0, seconds(10));
  EXPECT_NEAR(fixed.pacing_rate(), kRate, 1);
}

TEST(CongestionFixed, MakesGoodWhatIsLost) {
  for (const double loss : {0.01, 0.05, 0.1, 0.2}) {
    CongestionFixed fixed(10'000'000);
    feed(fixed, Time(seconds(1)), loss, seconds(20));
    EXPECT_NEAR(fixed.pacing_rate(), kRate / (1 - loss), kRate * 1e-3) << loss;
  }
}

TEST(CongestionFixed, NeverMakesGoodMoreThanAFifth) {
  for (const double loss : {0.21, 0.5, 1.0}) {
    CongestionFixed fixed(10'000'000);
    feed(fixed, Time(seconds(1)), loss, seconds(20));
    EXPECT_NEAR(fixed.pacing_rate(), kRate / 0.8, 1) << loss;
  }
}

TEST(CongestionFixed, ForgetsLossInSomeSeconds) {
  CongestionFixed fixed(10'000'000);
  const Time now = feed(fixed, Time(seconds(1)), 0.2, seconds(20));
  feed(fixed, now, 0, seconds(1));
  EXPECT_GT(fixed.pacing_rate(), 1.1 * kRate);
  feed(fixed, now + seconds(1), 0, 4 * CongestionFixed::kMemory);
  EXPECT_NEAR(fixed.pacing_rate(), kRate, 0.01 * kRate);
}

TEST(CongestionFixed, TheWindowNeverHoldsTheRateBack) {
  CongestionFixed fixed(10'000'000);
  feed(fixed, Time(seconds(1)), 0.1, seconds(1));
  EXPECT_GE(static_cast<double>(fixed.window()), 1.9 * fixed.pacing_rate() * 0.125);
}

TEST(CongestionFixed, SpacesAsItIsTold) {
  CongestionFixed trains(100'000'000);
  CongestionFixed even(100'000'000, Pacing::kEven);
  CongestionFixed burst(100'000'000, Pacing::kBurst);
  for (const CongestionFixed* fixed : {&trains, &even, &burst})
    EXPECT_NEAR(fixed->pacing_rate(), 10 * kRate, 10);
  EXPECT_NEAR(trains.quantum(milliseconds(100)), 0.001 * 10 * kRate, 1);
  EXPECT_NEAR(trains.quantum(milliseconds(2)), 0.0005 * 10 * kRate, 1);
  EXPECT_EQ(even.quantum(milliseconds(100)), 2400);
  EXPECT_NEAR(burst.quantum(milliseconds(100)), 0.05 * 10 * kRate, 1);
  // The window does not cut a burst short, however short the round trip is.
  ReportSample sample;
  sample.now = Time(seconds(1));
  sample.covered = 1200;
  sample.smoothed_rtt = sample.report_interval = milliseconds(1);
  burst.on_report(sample);
  EXPECT_GE(static_cast<double>(burst.window()), burst.quantum(milliseconds(100)));
}

TEST(CongestionFixed, AtALowRateABurstIsTwoDatagrams) {
  CongestionFixed burst(1000, Pacing::kBurst);
  EXPECT_EQ(burst.quantum(milliseconds(100)), 2400);
}

TEST(FindPacing, KnowsItsNames) {
  EXPECT_EQ(find_pacing("even"), Pacing::kEven);
  EXPECT_EQ(find_pacing("burst"), Pacing::kBurst);
  EXPECT_EQ(find_pacing(""), Pacing::kTrains);
  EXPECT_EQ(find_pacing("odd"), std::nullopt);
}

TEST(MakeCongestion, KnowsItsNames) {
  for (const std::string_view name : kCongestionNames)
    EXPECT_NE(make_congestion(name, 1'000'000), nullptr) << name;
  EXPECT_NE(make_congestion("auto", std::nullopt), nullptr);
  EXPECT_NE(make_congestion("fixed", 1'000'000), nullptr);
  EXPECT_EQ(make_congestion("fixed", std::nullopt), nullptr);
  EXPECT_EQ(make_congestion("fixed", 0), nullptr);
  EXPECT_EQ(make_congestion("reno", std::nullopt), nullptr);
}

}  // namespace
}  // namespace mcdtp
