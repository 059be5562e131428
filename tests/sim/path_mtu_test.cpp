#include <gtest/gtest.h>

#include <string>

#include "tests/sim/world.h"

// Path MTU search in a whole session: the sizes found, black holes, and that bytes come whole meanwhile.
namespace mcdtp::sim {
namespace {

constexpr std::uint64_t kBulk = 30'000'000;

WorldSettings over(std::size_t mtu, std::size_t interface_mtu) {
  WorldSettings settings;
  settings.up.mtu = settings.down.mtu = mtu;
  settings.interface_mtu = interface_mtu;
  return settings;
}

std::size_t size_of(Host& host, ChannelId id) { return host.session().channel(id)->mtu.size(); }

void transfer(World& world, std::uint64_t bytes, Duration limit) {
  world.client.send(kStdio, bytes);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, limit));
  EXPECT_TRUE(world.server.intact());
  EXPECT_EQ(world.server.received(kStdio), bytes);
}

TEST(PathMtuScenario, FoundOnEachChannel) {
  for (const std::size_t mtu : {1500u, 9000u}) {
    for (const std::size_t interface_mtu : {1500u, 9000u}) {
      World world(over(mtu, interface_mtu));
      transfer(world, kBulk, seconds(20));
      for (ChannelId id = 0; id < 8; ++id) {
        EXPECT_EQ(size_of(world.client, id), std::min(mtu, interface_mtu) - Link::kIpOverhead) << id;
        EXPECT_EQ(size_of(world.server, id), PathMtu::kBase) << "what sends nothing searches nothing";
      }
    }
  }
}

TEST(PathMtuScenario, LoopbackSizesAreFoundBothWays) {
  WorldSettings settings = over(65536, 65536);
  settings.channels = 2;
  settings.up.rate_bps = settings.down.rate_bps = 1e9;
  settings.up.delay = settings.down.delay = milliseconds(1);
  World world(settings);
  world.server.send(kStdio, kBulk);
  transfer(world, kBulk, seconds(20));
  EXPECT_TRUE(world.run_until([&] { return world.client.ended(kStdio); }, seconds(20)));
  EXPECT_EQ(world.client.session().statistics().largest_sent, PathMtu::kMost);
  EXPECT_EQ(world.client.session().statistics().largest_received, PathMtu::kMost);
}

TEST(PathMtuScenario, AShortCommandSendsNoProbe) {
  World world(over(9000, 9000));
  world.server.send(kStdio, 1000);
  transfer(world, 4000, seconds(5));
  world.run_until([] { return false; }, seconds(60));
  EXPECT_EQ(world.up(0).largest_offered, PathMtu::kBase);
  EXPECT_EQ(world.down(0).largest_offered, PathMtu::kBase);
}

// Where only the base passes nothing is lost but the probes, and they are no loss to anyone.
TEST(PathMtuScenario, OnlyTheBasePasses) {
  WorldSettings settings = over(1228, 1500);
  settings.congestion = "fixed";
  settings.fixed_rate_bps = 50'000'000;
  World world(settings);
  transfer(world, kBulk, seconds(20));
  for (ChannelId id = 0; id < 8; ++id) EXPECT_EQ(size_of(world.client, id), PathMtu::kBase);
  EXPECT_EQ(world.client.session().statistics().packets_lost, 0u);
  EXPECT_EQ(world.client.session().statistics().spurious_losses, 0u);
  EXPECT_FALSE(world.client.has_event(SessionEventKind::kChannelDoubted));
}

TEST(PathMtuScenario, EachChannelFindsItsOwn) {
  WorldSettings settings = over(9000, 9000);
  settings.channels = 4;
  settings.up.delay = settings.down.delay = milliseconds(5);
  const std::size_t mtus[] = {9000, 1500, 1400, 4000};
  for (ChannelId id = 0; id < 4; ++id) {
    settings.own_up[id] = settings.own_down[id] = settings.up;
    settings.own_up[id].mtu = settings.own_down[id].mtu = mtus[id];
  }
  World world(settings);
  world.client.send(kStdio, 60'000'000);
  const auto found = [&](ChannelId id) {
    const std::size_t most = mtus[id] - Link::kIpOverhead;
    EXPECT_LE(size_of(world.client, id), most) << id;
    return size_of(world.client, id) + PathMtu::kStep >= most;
  };
  EXPECT_TRUE(world.run_until([&] { return found(0) && found(1) && found(2) && found(3); }, seconds(2)));
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(20)));
  EXPECT_TRUE(world.server.intact());
}

// 9000 to 1400 in the middle of a transfer: no message tells, the large packets vanish.
TEST(PathMtuScenario, ABlackHoleIsLeftAndTheTransferGoesOn) {
  World world(over(9000, 9000));
  const Duration rtt = 2 * milliseconds(25);
  world.client.send(kStdio, 60'000'000);
  world.run_until([] { return false; }, seconds(2));
  ASSERT_EQ(size_of(world.client, 0), 8972u);
  world.each_link([](LinkSettings& link) { link.mtu = 1400; });
  const auto all_left = [&] {
    for (ChannelId id = 0; id < 8; ++id) {
      if (size_of(world.client, id) > 1372) return false;
    }
    return true;
  };
  // A probe time-out, the report of its small packet, and as much again for a channel that had little in flight.
  EXPECT_TRUE(world.run_until(all_left, seconds(2) + 20 * rtt)) << world.seconds_passed();
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(20)));
  EXPECT_TRUE(world.server.intact());
  for (ChannelId id = 0; id < 8; ++id) {
    EXPECT_GE(size_of(world.client, id) + PathMtu::kStep, 1372u) << id;
    EXPECT_LE(size_of(world.client, id), 1372u) << id;
  }
}

// Nobody misses a report of its own: where the path shrinks it must come all the same. Also where there are data that may
// not go just now.
TEST(PathMtuScenario, PacketsOfReportsAloneStaySmall) {
  WorldSettings settings = over(1500, 1500);
  settings.up.loss = settings.down.loss = 0.1;
  World world(settings);
  std::size_t reports = 0;
  world.on_datagram = [&](Role, Bytes frames, bool) {
    bool has_report = false, has_data = false;
    Reader in(frames);
    while (const auto frame = read_frame(in)) {
      has_report = has_report || std::holds_alternative<ReportFrame>(*frame);
      has_data = has_data || std::holds_alternative<DataFrame>(*frame);
    }
    if (!has_report || has_data) return;
    ++reports;
    EXPECT_LE(frames.size() + kSealOverhead, PathMtu::kBase);
  };
  world.client.send(kStdio, 5'000'000);
  world.server.send(kStdio, 5'000'000);
  EXPECT_TRUE(
      world.run_until([&] { return world.server.ended(kStdio) && world.client.ended(kStdio); }, seconds(20)));
  EXPECT_GT(reports, 100U);
}

// Then small packets come and no others do, each way or one way: the stream goes on over the SSH connection, and by UDP again
// when the path has recovered.
TEST(PathMtuScenario, APathThatCarriesLessThanTheBaseIsLeft) {
  const auto fall_to = [](std::size_t mtu) { return [mtu](LinkSettings& link) { link.mtu = mtu; }; };
  for (const auto& [up, down] : {std::pair(true, true), {true, false}, {false, true}}) {
    WorldSettings settings = over(1500, 1500);
    settings.ssh_rate_bps = 20e6;
    World world(settings);
    world.client.send(kStdio, kBulk);
    world.server.send(kStdio, kBulk);
    world.at(milliseconds(700), [&, up = up, down = down] {
      if (up) world.each_up(fall_to(1200));
      if (down) world.each_down(fall_to(1200));
    });
    world.at(seconds(8), [&] { world.each_link(fall_to(1500)); });
    world.run_until([] { return false; }, seconds(4));
    const std::uint64_t up_by_then = world.server.received(kStdio),
                        down_by_then = world.client.received(kStdio);
    world.run_until([] { return false; }, seconds(8));
    EXPECT_GE(world.server.received(kStdio), std::min(kBulk, up_by_then + 5'000'000)) << up << down;
    EXPECT_GE(world.client.received(kStdio), std::min(kBulk, down_by_then + 5'000'000)) << up << down;
    EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio) && world.client.ended(kStdio); },
                                seconds(40)));
    EXPECT_TRUE(world.server.intact() && world.client.intact());
    EXPECT_EQ(world.client.has_event(SessionEventKind::kChannelDoubted), up);
    EXPECT_EQ(world.server.has_event(SessionEventKind::kChannelDoubted), down);
  }
}

// All is lost for a while, and what comes first after it may be a small packet.
TEST(PathMtuScenario, AnOutageIsNoError) {
  const auto lose = [](double share) { return [share](LinkSettings& link) { link.loss = share; }; };
  const auto cases = {std::pair(1131, 250), {1308, 300}, {1839, 250}, {2193, 150}};
  for (const auto& [start, duration] : cases) {
    World world(over(1228, 1228));
    world.client.send(kStdio, 40'000'000);
    world.server.send(kStdio, 40'000'000);
    world.at(milliseconds(start), [&] { world.each_link(lose(1)); });
    world.at(milliseconds(start + duration), [&] { world.each_link(lose(0)); });
    const auto both_ended = [&] { return world.server.ended(kStdio) && world.client.ended(kStdio); };
    EXPECT_TRUE(world.run_until(both_ended, seconds(20)));
    EXPECT_TRUE(world.server.intact() && world.client.intact());
    EXPECT_FALSE(world.client.has_event(SessionEventKind::kChannelDoubted)) << start;
    EXPECT_FALSE(world.server.has_event(SessionEventKind::kChannelDoubted)) << start;
  }
}

TEST(PathMtuScenario, RandomLossIsNoBlackHole) {
  for (const double burst : {1.0, 4.0}) {
    WorldSettings settings = over(1500, 1500);
    settings.up.loss = settings.down.loss = 0.05;
    settings.up.loss_burst = settings.down.loss_burst = burst;
    World world(settings);
    world.client.write(kStdio, 60'000'000);
    std::set<ChannelId> found;
    bool fell = false;
    world.run_until(
        [&] {
          for (ChannelId id = 0; id < 8; ++id) {
            if (size_of(world.client, id) == 1472) found.insert(id);
            if (size_of(world.client, id) != 1472 && found.contains(id)) fell = true;
          }
          return fell || world.server.received(kStdio) == 60'000'000;
        },
        seconds(20));
    EXPECT_EQ(found.size(), 8u);
    EXPECT_FALSE(fell) << "at " << world.seconds_passed() << " s, bursts of " << burst;
    EXPECT_EQ(world.server.received(kStdio), 60'000'000u);
  }
}

// The client comes from elsewhere: the server starts again from the base on the new path, which carries less.
TEST(PathMtuScenario, ANewPathIsSearchedAnew) {
  World world(over(9000, 9000));
  world.server.send(kStdio, 60'000'000);
  world.run_until([] { return false; }, seconds(2));
  ASSERT_EQ(size_of(world.server, 0), 8972u);
  world.client.address = 2;
  world.each_link([](LinkSettings& link) { link.mtu = 1500; });
  EXPECT_TRUE(world.run_until([&] { return world.client.ended(kStdio); }, seconds(20)));
  EXPECT_TRUE(world.client.intact());
  for (ChannelId id = 0; id < 8; ++id) EXPECT_EQ(size_of(world.server, id), 1472u) << id;
}

}  // namespace
}  // namespace mcdtp::sim
