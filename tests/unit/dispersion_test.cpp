#include "common/core/congestion/dispersion.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr double kRate = 2.5e6;   // bytes/s
constexpr double kTrain = 19200;  // bytes

struct Path {
  Dispersion dispersion{6e3};
  std::uint64_t sent = 0;
  Time now = Time{} + seconds(1);

  // Reports cover its first packet, one in the middle and the last.
  void train(double rate, double bytes = kTrain) {
    now += milliseconds(100);
    for (const double part : {1200.0, bytes / 2, bytes})
      dispersion.note(sent, part, now + from_seconds(part / rate));
    sent += static_cast<std::uint64_t>(bytes);
  }
  void lone_packet() {
    now += milliseconds(100);
    dispersion.note(sent, 1200, now);
    sent += 1200;
  }
};

TEST(Dispersion, IsTheBottlenecksRateOnceThreeTrainsAgree) {
  Path path;
  EXPECT_EQ(path.dispersion.rate(), 0);
  path.train(kRate);
  path.train(kRate);
  EXPECT_EQ(path.dispersion.rate(), 0);
  EXPECT_FALSE(path.dispersion.is_done());
  path.train(kRate);
  EXPECT_NEAR(path.dispersion.rate(), kRate, kRate / 1000);
  EXPECT_TRUE(path.dispersion.is_done());
}

TEST(Dispersion, LonePacketsAndShortTrainsSayNothing) {
  Path path;
  for (int i = 0; i < 100; ++i) path.lone_packet();
  for (int i = 0; i < 100; ++i) path.train(kRate, 6000);
  EXPECT_EQ(path.dispersion.rate(), 0);
  EXPECT_FALSE(path.dispersion.is_done());
  for (int i = 0; i < 3; ++i) path.train(kRate);
  EXPECT_NEAR(path.dispersion.rate(), kRate, kRate / 1000);
}

// The time that a fast link takes for a train is that of the hosts.
TEST(Dispersion, TooFastToTell) {
  Path path;
  for (int i = 0; i < 100; ++i) path.train(125e6);
  EXPECT_EQ(path.dispersion.rate(), 0);
  EXPECT_TRUE(path.dispersion.is_done());
  EXPECT_TRUE(path.dispersion.is_too_fast());
}

// Of a fast link's trains, those held up on their way last long enough to be told: they are not all there is.
TEST(Dispersion, SlowTrainsAmongFastOnesDoNotSpeakForThem) {
  Path path;
  for (int i = 0; i < 4; ++i) {
    path.train(125e6);
    path.train(40e6);
    EXPECT_EQ(path.dispersion.rate(), 0);
  }
}

TEST(Dispersion, OneOfFiveMayBeFarOff) {
  Path path;
  path.train(kRate);
  path.train(3 * kRate);
  path.train(kRate);
  EXPECT_EQ(path.dispersion.rate(), 0);
  path.train(kRate);
  EXPECT_EQ(path.dispersion.rate(), 0);
  path.train(kRate);
  EXPECT_NEAR(path.dispersion.rate(), kRate, kRate / 1000);
}

TEST(Dispersion, TrainsThatNeverAgreeEndIt) {
  Path path;
  double rate = kRate;
  for (std::size_t i = 0; i < Dispersion::kTrains; ++i) {
    EXPECT_FALSE(path.dispersion.is_done()) << i;
    path.train(rate *= 1.3);
  }
  EXPECT_TRUE(path.dispersion.is_done());
  EXPECT_EQ(path.dispersion.rate(), 0);
}

// Reports may overtake each other, and say less than one before.
TEST(Dispersion, AnOlderReportChangesNothing) {
  Path path;
  for (int i = 0; i < 3; ++i) {
    path.train(kRate);
    const std::uint64_t before = path.sent - static_cast<std::uint64_t>(kTrain);
    path.dispersion.note(before, 1200, path.now + seconds(1));
    if (i > 0) path.dispersion.note(0, kTrain, path.now + seconds(2));
  }
  EXPECT_NEAR(path.dispersion.rate(), kRate, kRate / 1000);
}

}  // namespace
}  // namespace mcdtp
