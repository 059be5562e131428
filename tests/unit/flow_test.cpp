#include "common/core/flow.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/core/congestion/congestion_fixed.h"

namespace mcdtp {
namespace {

constexpr Time kStart = Time(seconds(100));

// Bytes that the pacer lets go from `from` on, in a second of wake-ups on time.
std::size_t sent_in_a_second(Flow& flow, Time from) {
  std::size_t bytes = 0;
  for (Time now = from; now < from + seconds(1); now = std::max(now + microseconds(1), flow.ready_at())) {
    for (; flow.may_send(now); bytes += 1200) flow.on_counted(1200, 1);
  }
  return bytes;
}

// Without a report to bring it about.
TEST(Flow, SilenceSlowsThePaceAtOnce) {
  Flow flow(kStart, make_congestion("daimd", std::nullopt));
  const std::size_t before = sent_in_a_second(flow, kStart);
  flow.on_silence(kStart + seconds(1));
  const std::size_t after = sent_in_a_second(flow, kStart + seconds(1));
  EXPECT_LE(after, before * 6 / 10);
  EXPECT_GE(after, before / 10);
}

TEST(Flow, IsPacedInTheQuantumOfItsController) {
  Flow flow(kStart, make_congestion("fixed", 80'000'000, Pacing::kBurst));
  while (flow.may_send(kStart)) flow.on_counted(1200, 1);
  const Duration wait = flow.ready_at() - kStart;
  EXPECT_GE(wait, CongestionFixed::kBurstInterval);
  EXPECT_LE(wait, CongestionFixed::kBurstInterval + milliseconds(1));
}

}  // namespace
}  // namespace mcdtp
