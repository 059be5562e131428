#include <gtest/gtest.h>

#include <cmath>
#include <iomanip>

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

}  // namespace
}  // namespace mcdtp::sim
