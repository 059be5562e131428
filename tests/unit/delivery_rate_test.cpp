#include "common/core/delivery_rate.h"

#include <gtest/gtest.h>

#include <vector>

namespace mcdtp {
namespace {

constexpr std::size_t kSize = 1200;
constexpr Time kStart = Time(seconds(100));

SentPacket send(DeliveryRate& delivery, Time now, std::uint64_t in_flight) {
  SentPacket packet;
  packet.sent_at = now;
  packet.size = kSize;
  packet.snapshot = delivery.on_sent(now, kSize, in_flight);
  return packet;
}

// One packet each millisecond over a path of 50 ms; every `step`th is reported. The last sample.
DeliveryRate::Sample steady(DeliveryRate& delivery, int step, int count, int limited_at = -1) {
  DeliveryRate::Sample last;
  std::vector<SentPacket> packets;
  for (int i = 0; i < count; ++i) {
    if (i == limited_at) delivery.on_application_limited();
    packets.push_back(send(delivery, kStart + milliseconds(i), i == 0 ? 0 : kSize));
    const int arrived = i - 50;
    if (arrived >= 0 && arrived % step == 0) {
      last = delivery.on_arrived(packets[static_cast<std::size_t>(arrived)], milliseconds(50));
    }
  }
  return last;
}

TEST(DeliveryRate, IsTheRateOfASteadyFlow) {
  DeliveryRate delivery;
  const DeliveryRate::Sample sample = steady(delivery, 1, 300);
  EXPECT_NEAR(sample.rate, kSize * 1000.0, kSize * 1.0);
  EXPECT_EQ(sample.loss, 0);
  EXPECT_FALSE(sample.application_limited);
}

TEST(DeliveryRate, SparseReportsDoNotDisturbIt) {
  for (const int step : {1, 7, 25, 49}) {
    DeliveryRate delivery;
    EXPECT_NEAR(steady(delivery, step, 400).rate, kSize * 1000.0, kSize * 1.0) << step;
  }
}

// A train sent at once over an empty path says how fast the bottleneck let it through.
TEST(DeliveryRate, IsBoundedByArrivals) {
  DeliveryRate delivery;
  const SentPacket first = send(delivery, kStart, 0);
  delivery.on_arrived(first, milliseconds(20));
  std::vector<SentPacket> train;
  for (int i = 0; i < 10; ++i) train.push_back(send(delivery, kStart + milliseconds(20), kSize));
  EXPECT_NEAR(delivery.on_arrived(train.back(), milliseconds(40)).rate, 10 * kSize / 0.040, 1);
}

// Arrivals that come closer together than they were sent say nothing of the path.
TEST(DeliveryRate, IsBoundedByWhatWasSent) {
  DeliveryRate delivery;
  const SentPacket first = send(delivery, kStart, 0);
  delivery.on_arrived(first, milliseconds(100));
  const SentPacket late = send(delivery, kStart + milliseconds(100), kSize);
  EXPECT_LE(delivery.on_arrived(late, milliseconds(1)).rate, kSize / 0.1 + 1);
}

TEST(DeliveryRate, CountsLossesOfItsSpanOnly) {
  DeliveryRate delivery;
  delivery.on_lost(50 * kSize);
  const SentPacket first = send(delivery, kStart, 0);
  delivery.on_arrived(first, milliseconds(10));
  std::vector<SentPacket> train;
  for (int i = 0; i < 10; ++i) train.push_back(send(delivery, kStart + milliseconds(10 + i), kSize));
  delivery.on_lost(2 * kSize);
  EXPECT_NEAR(delivery.on_arrived(train.back(), milliseconds(10)).loss, 0.2, 1e-9);
}

TEST(DeliveryRate, WhatIsFoundWasNotLost) {
  DeliveryRate delivery;
  const SentPacket packet = send(delivery, kStart, 0);
  delivery.on_lost(kSize);
  delivery.on_found(kSize);
  EXPECT_EQ(delivery.on_arrived(packet, milliseconds(10)).loss, 0);
  const SentPacket next = send(delivery, kStart, kSize);
  delivery.on_lost(kSize);
  delivery.on_found(2 * kSize);
  EXPECT_EQ(delivery.on_arrived(next, milliseconds(10)).loss, 0);
}

TEST(DeliveryRate, SpansAcrossALackOfDataAreMarked) {
  DeliveryRate delivery;
  EXPECT_TRUE(steady(delivery, 1, 160, 100).application_limited);
  DeliveryRate later;
  EXPECT_FALSE(steady(later, 1, 300, 100).application_limited);
}

TEST(DeliveryRate, SpansAcrossAHostsStandstillAreMarked) {
  DeliveryRate delivery;
  const SentPacket before = send(delivery, kStart, 0);
  delivery.on_host_limited();
  const SentPacket after = send(delivery, kStart + milliseconds(80), kSize);
  EXPECT_FALSE(delivery.on_arrived(before, milliseconds(10)).host_limited);
  EXPECT_TRUE(delivery.on_arrived(after, milliseconds(10)).host_limited);
  const SentPacket later = send(delivery, kStart + milliseconds(95), kSize);
  EXPECT_FALSE(delivery.on_arrived(later, milliseconds(10)).host_limited);
}

TEST(DeliveryRate, SilenceIsNotCounted) {
  DeliveryRate delivery;
  delivery.on_arrived(send(delivery, kStart, 0), milliseconds(10));
  const Time again = kStart + seconds(60);
  const SentPacket packet = send(delivery, again, 0);
  const SentPacket second = send(delivery, again + milliseconds(10), kSize);
  delivery.on_arrived(packet, milliseconds(10));
  EXPECT_NEAR(delivery.on_arrived(second, milliseconds(10)).rate, 2 * kSize / 0.020, 1);
}

TEST(DeliveryRate, ATinyRoundTripGivesNoHugeRate) {
  DeliveryRate delivery;
  const SentPacket packet = send(delivery, kStart, 0);
  EXPECT_LE(delivery.on_arrived(packet, microseconds(1)).rate, kSize * 1000.0 + 1);
}

}  // namespace
}  // namespace mcdtp
