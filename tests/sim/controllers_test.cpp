#include <gtest/gtest.h>

#include <cmath>
#include <iomanip>

#include "common/core/congestion/congestion_daimd.h"
#include "tests/sim/world.h"

// What each congestion control but `auto` makes of a link: slopes, floors and shares, in virtual time.
namespace mcdtp::sim {
namespace {

constexpr std::uint64_t kEndless = std::uint64_t{1} << 40;

WorldSettings world_of(const std::string& congestion, double mbps, Duration delay, double loss = 0) {
  WorldSettings settings;
  settings.up.rate_bps = settings.down.rate_bps = mbps * 1e6;
  settings.up.delay = settings.down.delay = delay;
  settings.up.loss = loss;
  settings.channels = 4;
  settings.congestion = congestion;
  return settings;
}

// Payload that came between two times, in bytes/s.
double goodput(World& world, Duration from, Duration until) {
  const auto never = [] { return false; };
  world.run_until(never, from);
  const std::uint64_t before = world.server.received(kStdio);
  world.run_until(never, until);
  EXPECT_TRUE(world.server.intact());
  return static_cast<double>(world.server.received(kStdio) - before) / to_seconds(until - from);
}

double goodput_of(const WorldSettings& settings, Duration from, Duration until) {
  World world(settings);
  world.client.send(kStdio, kEndless);
  const double result = goodput(world, from, until);
  std::cout << settings.congestion << ", " << settings.up.rate_bps / 1e6 << " Mbit/s, "
            << to_seconds(settings.up.delay) * 1e3 << " ms, loss " << settings.up.loss << ": "
            << std::setprecision(3) << result * 8 / 1e6 << " Mbit/s, share "
            << result / World::limit(settings.up) << "\n";
  return result;
}

// ---- cubic ----

TEST(Cubic, FillsACleanLink) {
  const WorldSettings settings = world_of("cubic", 50, milliseconds(25));
  EXPECT_GE(goodput_of(settings, {}, seconds(20)), 0.9 * World::limit(settings.up));
}

// Response functions of RFC 9438 section 5.2 (figure 4) and RFC 5681's Reno with the same decrease, of which the
// faster holds: segments a round trip at loss p.
double response(double p, double rtt) {
  const double cubic = std::pow(0.4 * 3.7 / 1.2, 0.25) * std::pow(rtt, 0.75) / std::pow(p, 0.75);
  const double reno = std::sqrt(1.5 / p);
  return std::max(cubic, reno);
}

TEST(Cubic, CollapsesWithLossAsTheStandardSays) {
  for (const double loss : {0.001, 0.01, 0.05}) {
    const WorldSettings settings = world_of("cubic", 500, milliseconds(25), loss);
    const double payload = 1200 - kSealOverhead - 8;
    const double wanted = response(loss, 0.05) * payload / 0.05;
    const double got = goodput_of(settings, seconds(5), seconds(45));
    EXPECT_GE(got, 0.5 * wanted) << loss;
    EXPECT_LE(got, 1.5 * wanted) << loss;
    EXPECT_LE(got, 0.2 * World::limit(settings.up)) << loss;
  }
}

// ---- daimd ----

TEST(Daimd, FillsACleanLink) {
  const WorldSettings settings = world_of("daimd", 50, milliseconds(25));
  EXPECT_GE(goodput_of(settings, seconds(5), seconds(25)), 0.85 * World::limit(settings.up));
}

// Where no interval of 10 ms passes without a loss, it no longer grows: 1 / (p x 10 ms) packets/s.
TEST(Daimd, StallsAtOneLossAnInterval) {
  for (const double loss : {0.01, 0.05, 0.1}) {
    const WorldSettings settings = world_of("daimd", 500, milliseconds(25), loss);
    const double payload = 1200 - kSealOverhead - 8;
    const double stall = payload / (loss * to_seconds(CongestionDaimd::kSyn));
    const double got = goodput_of(settings, seconds(20), seconds(60));
    EXPECT_GE(got, stall / 5) << loss;
    EXPECT_LE(got, stall) << loss;
  }
}

// ---- none ----

TEST(None, DeliversAllOnANarrowLink) {
  constexpr std::uint64_t kSize = 3'000'000;
  WorldSettings settings = world_of("none", 10, milliseconds(10), 0.01);
  World world(settings);
  world.client.send(kStdio, kSize);
  world.server.send(kStdio, kSize);
  const auto done = [&] { return world.server.ended(kStdio) && world.client.ended(kStdio); };
  ASSERT_TRUE(world.run_until(done, seconds(60)));
  EXPECT_EQ(world.server.received(kStdio), kSize);
  EXPECT_EQ(world.client.received(kStdio), kSize);
  EXPECT_TRUE(world.server.intact() && world.client.intact());
  std::cout << world.seconds_passed() << " s, " << world.client.session().statistics().packets_sent
            << " packets sent, " << world.client.session().statistics().packets_lost << " lost\n";
  // It pays in packets: most of them find the queue full.
  EXPECT_GT(world.up(0).dropped, world.up(0).offered / 2);
}

// Nobody else on the link, and a queue for all that memory holds: then it is as good as any.
TEST(None, FillsALinkThatLosesNothing) {
  WorldSettings settings = world_of("none", 100, milliseconds(10));
  settings.up.queue_bytes = 1 << 30;
  EXPECT_GE(goodput_of(settings, {}, seconds(5)), 0.95 * World::limit(settings.up));
}

// ---- fixed ----

WorldSettings fixed_world(Pacing pacing) {
  WorldSettings settings = world_of("fixed", 100, milliseconds(10));
  settings.fixed_rate_bps = 20'000'000;
  settings.pacing = pacing;
  return settings;
}

class FixedPacing : public testing::TestWithParam<Pacing> {};

TEST_P(FixedPacing, KeepsTheRate) {
  const double got = goodput_of(fixed_world(GetParam()), seconds(1), seconds(6));
  EXPECT_NEAR(got, 20e6 / 8, 0.03 * 20e6 / 8);
}

INSTANTIATE_TEST_SUITE_P(All, FixedPacing, testing::Values(Pacing::kTrains, Pacing::kEven, Pacing::kBurst));

// The longest time in which nothing arrives, and the most that arrives in one millisecond.
struct Trains {
  Duration longest_gap{};
  std::uint64_t most_bytes = 0;
};

Trains trains_of(Pacing pacing) {
  World world(fixed_world(pacing));
  world.client.send(kStdio, kEndless);
  world.run_until([] { return false; }, seconds(1));
  Trains trains;
  std::uint64_t before = world.server.received(kStdio);
  Duration gap{};
  for (int i = 0; i < 1000; ++i) {
    world.run_until([] { return false; }, seconds(1) + (i + 1) * milliseconds(1));
    const std::uint64_t came = world.server.received(kStdio) - before;
    before += came;
    gap = came == 0 ? gap + milliseconds(1) : Duration{};
    trains.longest_gap = std::max(trains.longest_gap, gap);
    trains.most_bytes = std::max(trains.most_bytes, came);
  }
  return trains;
}

// 2.5 kB a millisecond are due; the link lets 12 kB a millisecond through.
TEST(FixedPacing, BurstsShow) {
  const Trains even = trains_of(Pacing::kEven);
  EXPECT_LE(even.longest_gap, milliseconds(2));
  EXPECT_LE(even.most_bytes, 3U * 2400);
  const Trains burst = trains_of(Pacing::kBurst);
  EXPECT_GE(burst.longest_gap, milliseconds(30));
  EXPECT_LE(burst.longest_gap, milliseconds(50));
  EXPECT_GE(burst.most_bytes, 9'000U);
}

}  // namespace
}  // namespace mcdtp::sim
