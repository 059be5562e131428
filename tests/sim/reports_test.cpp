#include <gtest/gtest.h>

#include <utility>

#include "tests/sim/world.h"

// What reports cost, and that they say enough.
namespace mcdtp::sim {
namespace {

WorldSettings link(double mbps, int delay_ms, double loss, unsigned channels) {
  WorldSettings settings;
  settings.channels = channels;
  for (LinkSettings* side : {&settings.up, &settings.down}) {
    side->rate_bps = mbps * 1e6;
    side->delay = milliseconds(delay_ms);
    side->loss = loss;
    side->queue_bytes = static_cast<std::uint64_t>(mbps * 1e6 / 8 * 2 * delay_ms / 1e3);
  }
  return settings;
}

// More packets under way than any one report can name: 55,000, of which each tenth is lost.
TEST(Reports, NothingIsResentBecauseAReportHadNoRoom) {
  for (const unsigned channels : {1U, 4U}) {
    WorldSettings settings = link(1000, 300, 0.1, channels);
    settings.congestion = "fixed";
    settings.fixed_rate_bps = 800'000'000;
    World world(settings);
    constexpr std::uint64_t kSize = 80'000'000;
    world.client.send(kStdio, kSize);
    EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(60)));
    EXPECT_TRUE(world.server.intact());
    const SessionStatistics& sent = world.client.session().statistics();
    EXPECT_GT(sent.packets_lost, 4000u);
    // Chance can take all the reports that name a packet.
    EXPECT_LE(sent.spurious_losses, sent.packets_lost / 100) << channels << " channels";
    EXPECT_EQ(sent.bad_reports, 0u);
    const double packets = static_cast<double>(kSize) / (1200 - kSealOverhead - 8);
    const double needed = packets + static_cast<double>(world.up(0).lost);
    EXPECT_LT(static_cast<double>(sent.packets_sent) / needed, 1.01) << channels << " channels";
  }
}

// The link `course`: some five reports a round trip and channel, well below 3 % of the way forth; and one for each
// packet of the first trains, which take two round trips.
TEST(Reports, AreFewOnTheWayBack) {
  World world(link(100, 50, 0.05, 8));
  world.client.send(kStdio, 20'000'000);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(20)));
  const SessionStatistics& forth = world.client.session().statistics();
  const SessionStatistics& back = world.server.session().statistics();
  EXPECT_LT(back.bytes_sent, forth.bytes_sent / 100);
  constexpr double kOfTrains = 2.0 * kInitialWindow / 1200;
  EXPECT_LT(static_cast<double>(back.packets_sent), 7 * 8 * world.seconds_passed() / 0.1 + kOfTrains);
  EXPECT_EQ(forth.spurious_losses, 0u);
}

// What the receiver's system had no room for is told to the sender: of all channels, each counted once.
TEST(Reports, TellWhatTheSystemHadNoRoomFor) {
  World world(link(100, 5, 0, 2));
  world.server.session().set_kernel_drops(0, 3);
  world.server.session().set_kernel_drops(1, 2);
  world.server.session().set_kernel_drops(1, 4);
  world.client.send(kStdio, 2'000'000);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(20)));
  EXPECT_EQ(world.server.session().statistics().kernel_drops, 7u);
  EXPECT_EQ(world.client.session().statistics().peer_kernel_drops, 7u);
  EXPECT_EQ(world.server.session().statistics().peer_kernel_drops, 0u);
}

// Where channels take turns faster than reports are due, as they do after the start, those of all go at once: a wake-up
// for four.
TEST(Reports, OfAllChannelsGoTogether) {
  World world(link(4000, 1, 0, 4));
  world.client.send(kStdio, 80'000'000);
  EXPECT_TRUE(world.run_until([&] { return world.server.received(kStdio) > 40'000'000; }, seconds(20)));
  const std::uint64_t before = world.server.session().statistics().packets_sent;
  std::uint64_t moments = 0, packets = before;
  Time last{};
  const auto ended = [&] {
    const std::uint64_t sent = world.server.session().statistics().packets_sent;
    if (sent != packets && world.now() != std::exchange(last, world.now())) ++moments;
    packets = sent;
    return world.server.ended(kStdio);
  };
  EXPECT_TRUE(world.run_until(ended, seconds(20)));
  EXPECT_LT(moments, (packets - before) / 2);
}

}  // namespace
}  // namespace mcdtp::sim
