#include "common/core/capacity.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

using namespace std::chrono_literals;

Time at(Duration time) { return Time(time); }

// Reports each 5 ms of 1,200 bytes that took `rtt`.
Time feed(Capacity& capacity, Time now, int reports, Duration rtt, std::uint64_t in_flight) {
  for (int i = 0; i < reports; ++i) capacity.on_report({now += 5ms, 1200, in_flight, rtt, 5ms});
  return now;
}

TEST(Capacity, BeginsWithAFewPacketsAndFewerWhereLater) {
  Capacity capacity;
  EXPECT_EQ(capacity.window(), Capacity::kFirstWindow);
  capacity.set_later_by(20ms, 20ms);
  EXPECT_EQ(capacity.window(), Capacity::kFirstWindow / 2);
  capacity.set_later_by(2s, 20ms);
  EXPECT_EQ(capacity.window(), Capacity::kMinWindow);
}

TEST(Capacity, GrowsWithWhatArrivesWhileItIsUsed) {
  Capacity capacity;
  capacity.on_report({at(20ms), 12'000, 12'000, 20ms, 5ms});
  EXPECT_EQ(capacity.window(), 2 * Capacity::kFirstWindow);
  capacity.on_report({at(40ms), 1200, 1200, 20ms, 5ms});
  EXPECT_EQ(capacity.window(), 2 * Capacity::kFirstWindow);
}

// 1,200 bytes each 5 ms are 240,000 bytes/s; a round is 25 ms.
TEST(Capacity, IsWhatKeepsTheChannelBusyWhileAQueueStands) {
  Capacity capacity;
  capacity.on_first_sent(at(0ms));
  const Time now = feed(capacity, at(0ms), 40, 20ms, 100'000);
  const std::uint64_t grown = capacity.window();
  EXPECT_GT(grown, 20'000U);
  feed(capacity, now, 40, 60ms, 100'000);
  EXPECT_NEAR(capacity.rate(), 240'000, 1000);
  EXPECT_NEAR(static_cast<double>(capacity.window()), Capacity::kQueueGain * 240'000 * 0.025, 100);
}

TEST(Capacity, OneLateReportIsNoQueue) {
  Capacity capacity;
  capacity.on_first_sent(at(0ms));
  Time now = feed(capacity, at(0ms), 40, 20ms, 100'000);
  const std::uint64_t before = capacity.window();
  now = feed(capacity, now, 1, 90ms, 100'000);
  feed(capacity, now, 1, 20ms, 100'000);
  EXPECT_GT(capacity.window(), before);
}

TEST(Capacity, ForgetsAnOldSmallestRtt) {
  Capacity capacity;
  capacity.on_first_sent(at(0ms));
  Time now = feed(capacity, at(0ms), 40, 20ms, 100'000);
  EXPECT_EQ(capacity.round(), 25ms);
  feed(capacity, now, 12s / 5ms, 60ms, 100'000);
  EXPECT_EQ(capacity.round(), 65ms);
}

TEST(Capacity, SilenceIsNotMeasured) {
  Capacity capacity;
  capacity.on_first_sent(at(0ms));
  feed(capacity, at(0ms), 40, 20ms, 100'000);
  capacity.on_first_sent(at(10s));
  for (const Duration time :
       {10s + 20ms, 10s + 25ms, 10s + 30ms, 10s + 35ms, 10s + 40ms, 10s + 45ms, 10s + 50ms})
    capacity.on_report({at(time), 1200, 100'000, 20ms, 5ms});
  EXPECT_GE(capacity.rate(), 240'000);
}

TEST(Capacity, WhatIsBeforeAByteDelaysIt) {
  Capacity capacity;
  capacity.on_first_sent(at(0ms));
  feed(capacity, at(0ms), 40, 20ms, 100'000);
  EXPECT_EQ(capacity.expected_rtt(1200), 20ms);
  EXPECT_NEAR(to_seconds(capacity.expected_rtt(24'000)), 0.1, 0.001);
}

}  // namespace
}  // namespace mcdtp
