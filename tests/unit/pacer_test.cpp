#include "common/core/pacer.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <utility>

#include "common/core/congestion/congestion.h"

namespace mcdtp {
namespace {

constexpr Time kStart = Time(seconds(100));

// Sends packets of `size` as long as the pacer lets them go at `now`; returns their bytes.
double drain(Pacer& pacer, Time now, std::size_t size) {
  double sent = 0;
  while (pacer.may_send(now)) {
    pacer.on_sent(size);
    sent += static_cast<double>(size);
  }
  return sent;
}

// All that it let go at kStart has gone.
Pacer emptied(double rate, double quantum, Duration rtt) {
  Pacer pacer;
  pacer.set_rate(kStart, rate);
  pacer.set_quantum(quantum);
  pacer.set_rtt(rtt, CongestionController::usual_catch_up(rtt));
  drain(pacer, kStart, 1200);
  return pacer;
}

double sent_in_a_second_of_late_wake_ups(Pacer& pacer, Duration late) {
  double sent = 0;
  Time now = kStart;
  while (now < kStart + seconds(1)) {
    now = pacer.ready_at() + late;
    sent += drain(pacer, now, 1200);
  }
  return sent;
}

TEST(Pacer, KeepsItsRateWithWakeUpsOnTime) {
  Pacer pacer;
  pacer.set_rate(kStart, 1e6);
  pacer.set_quantum(2400);
  double sent = drain(pacer, kStart, 1200);
  Time now = kStart;
  while (now < kStart + seconds(2)) {
    now = pacer.ready_at();
    sent += drain(pacer, now, 1200);
  }
  EXPECT_NEAR(sent, 2e6, 2e4);
}

// Between any two moments, whatever happened before the first.
TEST(Pacer, NeverSendsMoreThanItsGuarantee) {
  std::mt19937 random(1);
  for (int run = 0; run < 50; ++run) {
    Pacer pacer;
    const double rate = std::uniform_real_distribution<>(1e4, 1e9)(random);
    pacer.set_rate(kStart, rate);
    pacer.set_quantum(std::clamp(rate * 1e-3, 2400.0, 65536.0));
    pacer.set_rtt(milliseconds(std::uniform_int_distribution<>(0, 300)(random)),
                  milliseconds(std::uniform_int_distribution<>(0, 100)(random)));
    Time now = kStart;
    double sent = 0, least_ahead = 0;  // of the rate, in bytes
    for (int wake = 0; wake < 100; ++wake) {
      now += microseconds(std::uniform_int_distribution<>(0, 50'000)(random));
      least_ahead = std::min(least_ahead, sent - rate * to_seconds(now - kStart));
      sent += drain(pacer, now, 1200);
      if (wake % 5 == 0) pacer.stop_waiting();
      ASSERT_LE(sent - rate * to_seconds(now - kStart) - least_ahead, pacer.depth() + 1200);
    }
  }
}

// What goes at once, after a second in which somebody waited for the bucket to open, or had nothing to send.
double sent_after_a_second(Duration rtt, bool waits) {
  Pacer pacer = emptied(1e8, 12000, rtt);
  if (!waits) pacer.stop_waiting();
  return drain(pacer, kStart + seconds(1), 1200);
}

TEST(Pacer, AShortPathMakesUpForLittle) {
  for (const Duration rtt : {Duration{}, Duration(milliseconds(2)), Duration(milliseconds(8))}) {
    const double allowed = to_seconds(std::clamp<Duration>(rtt / 2, microseconds(200), milliseconds(2)));
    EXPECT_NEAR(sent_after_a_second(rtt, true), 12000 + std::max(1e8 * allowed, 32768.0), 1200);
    EXPECT_NEAR(sent_after_a_second(rtt, false), 12000 + 1e8 * allowed, 1200);
  }
}

// At a low pace a short time is few bytes.
TEST(Pacer, ALowPaceMakesUpForMoreTimeOnAnyPath) {
  Pacer pacer = emptied(4e6, 2400, microseconds(500));
  EXPECT_GE(sent_in_a_second_of_late_wake_ups(pacer, milliseconds(7)), 0.99 * 4e6);
}

TEST(Pacer, ALongPathMakesUpForAQuarterOfItsRtt) {
  EXPECT_NEAR(sent_after_a_second(milliseconds(60), true), 12000 + 1e8 * 0.015, 1200);
  EXPECT_NEAR(sent_after_a_second(seconds(1), true), 12000 + 1e8 * 0.025, 1200);
}

TEST(Pacer, TellsOnceThatMoreWasMissedThanIsMadeUpFor) {
  Pacer pacer = emptied(1e8, 12000, milliseconds(60));
  EXPECT_FALSE(pacer.may_send(kStart + microseconds(50)));
  drain(pacer, kStart + milliseconds(10), 1200);
  EXPECT_FALSE(pacer.take_missed());
  drain(pacer, kStart + milliseconds(40), 1200);
  EXPECT_TRUE(pacer.take_missed());
  EXPECT_FALSE(pacer.take_missed());
  pacer.stop_waiting();
  drain(pacer, kStart + seconds(1), 1200);
  EXPECT_FALSE(pacer.take_missed()) << "there was nothing to send";
}

TEST(Pacer, WhatWasMissedIsForgottenWithWhatThereWasToSend) {
  Pacer pacer = emptied(1e8, 12000, milliseconds(60));
  ASSERT_TRUE(pacer.may_send(kStart + milliseconds(40)));
  pacer.stop_waiting();
  EXPECT_FALSE(pacer.take_missed());
}

TEST(Pacer, AShorterTrainMissesNothing) {
  Pacer pacer = emptied(1e6, 64000, milliseconds(4));
  EXPECT_FALSE(pacer.may_send(kStart + milliseconds(60)));
  pacer.set_quantum(2400);
  EXPECT_TRUE(pacer.may_send(kStart + milliseconds(61)));
  EXPECT_FALSE(pacer.take_missed());
}

TEST(Pacer, WhoHadNothingToSendSavesUpLittle) {
  EXPECT_NEAR(sent_after_a_second(milliseconds(100), false), 12000 + 1e8 * 0.002, 1200);
}

TEST(Pacer, NothingIsLeftOfWhatWasMissedByWhoHasSentAll) {
  Pacer pacer = emptied(1e8, 12000, milliseconds(100));
  ASSERT_TRUE(pacer.may_send(kStart + seconds(1)));
  pacer.stop_waiting();
  EXPECT_NEAR(drain(pacer, kStart + seconds(2), 1200), 12000 + 1e8 * 0.002, 1200);
}

TEST(Pacer, WhatWasMissedIsSentAtOnceThoughThatTakesTime) {
  Pacer pacer = emptied(1e8, 12000, milliseconds(100));
  double sent = 0;
  for (Time now = kStart + seconds(1); pacer.may_send(now); now += microseconds(1)) {
    pacer.on_sent(1200);
    sent += 1200;
  }
  EXPECT_GE(sent, 12000 + 1e8 * 0.025);
}

// What was saved or missed at a high rate is not sent at a low one.
TEST(Pacer, ALowerRateKeepsItsGuaranteeAtOnce) {
  Pacer pacer = emptied(1e8, 2400, milliseconds(100));
  ASSERT_TRUE(pacer.may_send(kStart + seconds(1)));
  pacer.set_rate(kStart + seconds(1), 1e6);
  EXPECT_LE(drain(pacer, kStart + seconds(1), 1200), pacer.depth() + 1200);
}

TEST(Pacer, AWakeUpSendsAWholeTrain) {
  Pacer pacer;
  pacer.set_rate(kStart, 1e6);
  pacer.set_quantum(12000);
  drain(pacer, kStart, 1200);
  EXPECT_FALSE(pacer.may_send(pacer.ready_at() - milliseconds(1)));
  EXPECT_GE(drain(pacer, pacer.ready_at(), 1200), 12000);
}

TEST(Pacer, IsReadyWhenItSaysSo) {
  Pacer pacer;
  pacer.set_rate(kStart, 123456.7);
  pacer.set_quantum(2400);
  for (int i = 0; i < 100; ++i) {
    drain(pacer, pacer.ready_at(), 1171);
    ASSERT_TRUE(pacer.may_send(pacer.ready_at()));
  }
}

TEST(Pacer, ALateWakeUpCostsNoRate) {
  for (const auto& [rtt, late] :
       {std::pair{milliseconds(4), milliseconds(2)}, {milliseconds(100), milliseconds(20)}}) {
    Pacer pacer = emptied(1e7, 10000, rtt);
    EXPECT_GE(sent_in_a_second_of_late_wake_ups(pacer, late), 0.99e7) << to_seconds(late);
  }
}

TEST(Pacer, AnInfiniteRateNeverHoldsBack) {
  Pacer pacer;
  pacer.set_rate(kStart, std::numeric_limits<double>::infinity());
  pacer.set_quantum(65536);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(pacer.may_send(kStart));
    pacer.on_sent(65507);
  }
  EXPECT_LE(pacer.ready_at(), kStart);
}

// Neither a debt nor savings are left of the time without a pace.
TEST(Pacer, ARateAfterAnInfiniteOneIsKept) {
  Pacer pacer;
  pacer.set_quantum(2400);
  for (int i = 0; i < 10; ++i) {
    const Time now = kStart + i * seconds(10);
    pacer.set_rate(now, std::numeric_limits<double>::infinity());
    for (int sent = 0; sent < 1000; ++sent) pacer.on_sent(1200);
    pacer.set_rate(now + seconds(1), 1e6);
    EXPECT_LE(drain(pacer, now + seconds(1), 1200), pacer.depth() + 1200);
    EXPECT_NEAR(drain(pacer, now + seconds(2), 1200), pacer.depth(), 1200);
  }
}

}  // namespace
}  // namespace mcdtp
