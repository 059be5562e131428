#include "common/core/congestion/queue_target.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr double kRate = 12.5e6;  // bytes/s
constexpr double kLongRtt = 0.1;  // s
constexpr double kTrain = 1e-4;   // s

TEST(QueueTarget, IsLessForWhoSendsMore) {
  for (double rtt : {0.0, 0.005, kLongRtt})
    for (double buffer : {0.0, 0.01})
      EXPECT_GT(queue_target(kRate, rtt, buffer, kTrain), queue_target(1.1 * kRate, rtt, buffer, kTrain))
          << rtt << " " << buffer;
}

TEST(QueueTarget, OnALongPathIsThatOfTheRate) {
  EXPECT_NEAR(queue_target(kRate, kLongRtt, 0, kTrain), 0.0042, 0.0001);
  EXPECT_NEAR(queue_target(kRate / 10, kLongRtt, 0, kTrain), 0.0134, 0.0001);
}

TEST(QueueTarget, IsLessThanAnRttThatIsNotShort) {
  EXPECT_LT(queue_target(1, 0.02, 0, kTrain), 0.02);
  EXPECT_NEAR(queue_target(1, 0, 0, kTrain), 0.002, 0.0001);
}

TEST(QueueTarget, IsLessThanAPartOfTheBuffer) {
  for (double buffer : {0.002, 0.01, 0.05})
    EXPECT_LE(queue_target(1, kLongRtt, buffer, kTrain), 0.35 * buffer);
  EXPECT_NEAR(queue_target(kRate, kLongRtt, 1, kTrain), queue_target(kRate, kLongRtt, 0, kTrain), 0.0001);
}

// Else a path whose buffer is short would look crowded with nothing on it but our own trains.
TEST(QueueTarget, IsMoreThanATrainMakes) {
  for (double buffer : {0.001, 0.002}) EXPECT_GT(queue_target(kRate, kLongRtt, buffer, 0.001), 0.001);
}

TEST(QueueTarget, IsAtLeastWhatHostsAdd) {
  EXPECT_EQ(queue_target(1e11, kLongRtt, 0, kTrain), 0.0005);
  EXPECT_EQ(queue_target(kRate, kLongRtt, 1e-6, kTrain), 0.0005);
}

}  // namespace
}  // namespace mcdtp
