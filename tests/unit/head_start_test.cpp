#include "common/core/congestion/head_start.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mcdtp {
namespace {

constexpr double kRate = 2.5e6;  // bytes/s
constexpr double kAny = 1e12;

// Reports of as many trains that a bottleneck of `path` bytes/s drew out, the first of them after `before` bytes.
void show_trains(HeadStart& head_start, int count, std::optional<Duration> rtt = milliseconds(50),
                 double path = kRate, double before = 0) {
  Time now = Time{} + seconds(1);
  const double train = head_start.train();
  for (int i = 0; i < count; ++i) {
    now += milliseconds(100);
    for (const double part : {1200.0, train}) {
      ReportSample sample;
      sample.rtt = rtt;
      sample.train = static_cast<std::uint32_t>(part);
      sample.newest_covered = static_cast<std::uint64_t>(before + i * train + part);
      sample.now = sample.newest_arrived_at = now + from_seconds(part / path);
      head_start.on_report(sample);
    }
  }
}

TEST(HeadStart, KnowsNothingAtFirst) {
  HeadStart head_start;
  EXPECT_TRUE(head_start.wants_trains());
  EXPECT_EQ(head_start.rate(kAny), 0);
  EXPECT_TRUE(std::isinf(head_start.bound(0, 1)) && std::isinf(head_start.bound(kAny, 1)));
}

TEST(HeadStart, GoesToMoreThanHalfAndThenToAll) {
  HeadStart head_start;
  show_trains(head_start, 3);
  EXPECT_FALSE(head_start.wants_trains());
  EXPECT_NEAR(head_start.rate(kAny), 0.6 * kRate, kRate / 100);
  EXPECT_EQ(head_start.rate(kRate / 5), kRate / 5);
  EXPECT_NEAR(head_start.bound(kRate / 2, 1), kRate, kRate / 100);
  EXPECT_NEAR(head_start.bound(kRate, 1), 1.12 * kRate, kRate / 100);
  EXPECT_NEAR(head_start.bound(kRate, 0.9), 1.12 * kRate / 0.9, kRate / 100);
}

TEST(HeadStart, BindsNobodyWhoGetsMoreThanTheTrainsSaid) {
  HeadStart head_start;
  show_trains(head_start, 3);
  EXPECT_TRUE(std::isinf(head_start.bound(1.2 * kRate, 1)));
}

// Trains that a fast path passes in less time than hosts can tell.
TEST(HeadStart, GoesOnWithLongerTrains) {
  constexpr double kFast = 120e6;
  HeadStart head_start;
  show_trains(head_start, 3, milliseconds(50), kFast);
  EXPECT_EQ(head_start.rate(kAny), 0);
  EXPECT_TRUE(head_start.wants_long_trains());
  EXPECT_EQ(head_start.train(), HeadStart::kLongTrain);
  show_trains(head_start, 3, milliseconds(50), kFast, 1e6);
  EXPECT_NEAR(head_start.rate(kAny), 0.6 * kFast, kFast / 100);
  EXPECT_FALSE(head_start.wants_trains());
}

// Short ones may still be reported.
TEST(HeadStart, WaitsForLongTrainsOnly) {
  constexpr double kFast = 120e6;
  HeadStart head_start;
  show_trains(head_start, 3, milliseconds(50), kFast);
  for (int i = 0; i < 9; ++i) {
    ReportSample sample;
    sample.rtt = milliseconds(50);
    sample.train = static_cast<std::uint32_t>(HeadStart::kTrain);
    sample.newest_covered = static_cast<std::uint64_t>(1e6 + i * HeadStart::kTrain);
    head_start.on_report(sample);
  }
  EXPECT_TRUE(head_start.wants_long_trains());
}

TEST(HeadStart, GivenUpIsForGood) {
  HeadStart head_start;
  show_trains(head_start, 3);
  head_start.give_up();
  show_trains(head_start, 8);
  EXPECT_FALSE(head_start.wants_trains());
  EXPECT_EQ(head_start.rate(kAny), 0);
  EXPECT_TRUE(std::isinf(head_start.bound(kRate, 1)));
}

// Reports without an RTT say nothing of when the packet arrived.
TEST(HeadStart, TakesOnlyReportsWithARoundTripTime) {
  HeadStart head_start;
  show_trains(head_start, 3, std::nullopt);
  EXPECT_EQ(head_start.rate(kAny), 0);
  EXPECT_TRUE(head_start.wants_trains());
}

TEST(HeadStart, LearnsAnewWhatIsOld) {
  HeadStart head_start;
  show_trains(head_start, 3);
  head_start.tell_time(Time{} + seconds(3), 0.05);
  EXPECT_GT(head_start.rate(kAny), 0);
  head_start.tell_time(Time{} + seconds(5), 0.3);
  EXPECT_GT(head_start.rate(kAny), 0) << "not yet so many round trips";
  head_start.tell_time(Time{} + seconds(5), 0.05);
  EXPECT_EQ(head_start.rate(kAny), 0);
  EXPECT_TRUE(head_start.wants_trains());
  show_trains(head_start, 3);
  EXPECT_NEAR(head_start.rate(kAny), 0.6 * kRate, kRate / 100);
}

}  // namespace
}  // namespace mcdtp
