#include "common/core/pacer.h"

#include <gtest/gtest.h>

#include <random>

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

TEST(Pacer, NeverSendsMoreThanItsGuarantee) {
  std::mt19937 random(1);
  for (int run = 0; run < 50; ++run) {
    Pacer pacer;
    const double rate = std::uniform_real_distribution<>(1e4, 1e9)(random);
    pacer.set_rate(kStart, rate);
    pacer.set_quantum(std::clamp(rate * 1e-3, 2400.0, 65536.0));
    drain(pacer, kStart, 1200);
    Time now = kStart;
    double sent = 0;
    for (int wake = 0; wake < 100; ++wake) {
      now += microseconds(std::uniform_int_distribution<>(0, 5000)(random));
      sent += drain(pacer, now, 1200);
      ASSERT_LE(sent, rate * to_seconds(now - kStart) + pacer.depth() + 1200);
    }
  }
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

TEST(Pacer, ALateWakeUpOfTwoMillisecondsCostsNoRate) {
  Pacer pacer;
  pacer.set_rate(kStart, 1e7);
  pacer.set_quantum(10000);
  double sent = drain(pacer, kStart, 1200);
  Time now = kStart;
  while (now < kStart + seconds(1)) {
    now = pacer.ready_at() + milliseconds(2);
    sent += drain(pacer, now, 1200);
  }
  EXPECT_GE(sent, 0.99e7);
}

}  // namespace
}  // namespace mcdtp
