#include "common/core/credit.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

TEST(CreditWindow, RenewsByQuartersAndOnlyRises) {
  CreditWindow window(1'000'000);
  EXPECT_EQ(window.limit(), 1'000'000u);
  EXPECT_FALSE(window.renew(249'000, 250'000, 1'000'000));
  EXPECT_EQ(window.renew(250'000, 250'000, 1'000'000), 1'250'000u);
  EXPECT_FALSE(window.renew(250'000, 250'000, 1'000'000));
  EXPECT_FALSE(window.renew(250'000, 250'000, 500'000));
  EXPECT_EQ(window.renew(250'000, 250'000, 4'000'000), 4'250'000u);
}

// What others hold may keep the limit from rising by a quarter: a sender must not be left without.
TEST(CreditWindow, ASenderThatHasLittleLeftGetsLess) {
  CreditWindow window(1'000'000);
  EXPECT_FALSE(window.renew(50'000, 200'000, 1'000'000));
  EXPECT_EQ(window.renew(50'000, 950'000, 1'000'000), 1'050'000u);
  EXPECT_EQ(window.renew(66'384, 1'050'000, 1'000'000), 1'066'384u);
  EXPECT_FALSE(window.renew(66'385, 1'066'384, 1'000'000)) << "not for a single byte";
}

TEST(MemoryShares, NeverComeToMoreThanTheMemory) {
  for (std::uint64_t memory = kMinMemory; memory <= std::uint64_t{1} << 40; memory *= 2) {
    const MemoryShares shares(memory);
    const std::uint64_t edges = 2 * shares.max_streams() * BlockPool::kBlockSize;
    const std::uint64_t spares = 2 * BlockPool::kMaxSpares * BlockPool::kBlockSize;
    EXPECT_LE(shares.data() + edges + spares, memory);
    EXPECT_GE(shares.max_streams(), 128u);
    EXPECT_GE(shares.session_window(0), kInitialSessionWindow) << "what is given before any agreement";
    for (std::uint64_t held = 0; held < shares.for_sending(0); held += shares.data() / 7) {
      EXPECT_LE(held + shares.session_window(held), shares.data());
      EXPECT_LE(shares.one_stream_sends(held, 2), shares.for_sending(held));
    }
  }
}

TEST(MemoryShares, ManyStreamsHaveTheirReserve) {
  const auto backed = [](std::uint64_t megabytes) { return MemoryShares(megabytes << 20).backed(); };
  EXPECT_EQ(backed(8), 64u);
  EXPECT_EQ(backed(16), 128u);
  EXPECT_EQ(backed(64), 256u);
  EXPECT_EQ(backed(256), 512u);
  EXPECT_EQ(backed(1024), 2048u);
  for (std::uint64_t memory = kMinMemory; memory <= std::uint64_t{1} << 40; memory *= 2) {
    const MemoryShares shares(memory);
    EXPECT_EQ(shares.reserved(0), shares.backed() * shares.reserve());
    EXPECT_LE(shares.reserved(0), memory / 8);
    EXPECT_GE(shares.reserve(), kInitialStreamWindow) << "what a stream has before any agreement";
  }
}

TEST(MemoryShares, OneAloneHasMostManyHaveTheSame) {
  const MemoryShares shares(kUntoldMemory);
  const std::uint64_t all = shares.session_window(0);
  EXPECT_GE(shares.stream_window(all, 2, 0), kUntoldMemory * 2 / 3);
  // Each takes what it may while the others hold as much.
  std::uint64_t one = 0;
  for (int i = 0; i < 100; ++i)
    one = (one + shares.stream_window(all, 2, 3 * (one - std::min(one, shares.reserve())))) / 2;
  EXPECT_GE(one, all / 5);
  EXPECT_LE(one, all / 4);
  EXPECT_EQ(shares.stream_window(all, 2, all), shares.reserve());
}

TEST(WindowTuner, GrowsWithWhatArrivesInARoundTrip) {
  WindowTuner tuner;
  Time now{};
  now += seconds(1);
  tuner.on_arrived(now, 0, milliseconds(100));
  EXPECT_TRUE(tuner.on_arrived(now + milliseconds(50), 500'000, milliseconds(100)));
  EXPECT_TRUE(tuner.on_arrived(now + milliseconds(100), 500'000, milliseconds(100)));
  EXPECT_EQ(tuner.window(), WindowTuner::kRounds * 1'000'000);
}

// What is far more than before counts at once; of what is little more the round trip is awaited.
TEST(WindowTuner, GrowsBeforeTheRoundTripIsOverWhereItIsMuch) {
  WindowTuner tuner;
  const Time now = Time{} + seconds(1);
  tuner.on_arrived(now, 0, milliseconds(100));
  EXPECT_FALSE(tuner.on_arrived(now + milliseconds(10), 30'000, milliseconds(100)));
  EXPECT_EQ(tuner.window(), kInitialStdioWindow);
  EXPECT_TRUE(tuner.on_arrived(now + milliseconds(10), 10'000, milliseconds(100)));
  EXPECT_EQ(tuner.window(), WindowTuner::kLeastGrown);
  EXPECT_TRUE(tuner.on_arrived(now + milliseconds(10), 460'000, milliseconds(100)));
  EXPECT_EQ(tuner.window(), WindowTuner::kRounds * 500'000);
  EXPECT_FALSE(tuner.on_arrived(now + milliseconds(20), 20'000, milliseconds(100)));
  EXPECT_EQ(tuner.window(), WindowTuner::kRounds * 500'000);
  EXPECT_TRUE(tuner.on_arrived(now + milliseconds(100), 1, milliseconds(100)));
  EXPECT_EQ(tuner.window(), WindowTuner::kRounds * 520'001);
}

}  // namespace
}  // namespace mcdtp
