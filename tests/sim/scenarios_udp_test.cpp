#include <gtest/gtest.h>

#include "tests/sim/world.h"

// Finding UDP out, losing it, and keeping it alive.
namespace mcdtp::sim {
namespace {

WorldSettings clean(Duration delay = milliseconds(10)) {
  WorldSettings settings;
  settings.channels = 4;
  settings.up.rate_bps = settings.down.rate_bps = 20e6;
  settings.up.delay = settings.down.delay = delay;
  return settings;
}

WorldSettings blocked(Duration delay) {
  WorldSettings settings = clean(delay);
  settings.up.cut = settings.down.cut = true;
  return settings;
}

std::size_t count(const Host& host, SessionEventKind kind) {
  return static_cast<std::size_t>(std::count_if(host.events.begin(), host.events.end(),
                                                [&](const SessionEvent& e) { return e.kind == kind; }));
}

TEST(UdpScenario, BlockedIsDecidedInTime) {
  for (const Duration delay : {milliseconds(10), milliseconds(400)}) {
    World world(blocked(delay));
    world.client.send(kStdio, 2'000'000);
    EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(60)));
    const auto decided = world.client.time_of(SessionEventKind::kUdpBlocked);
    ASSERT_TRUE(decided);
    // The RTT as SSH shows it: both ways, and the time on the slow pipe.
    EXPECT_LE(*decided, Time{} + std::max<Duration>(seconds(1), 4 * (2 * delay + milliseconds(100))));
    EXPECT_TRUE(world.server.intact());
    EXPECT_EQ(count(world.client, SessionEventKind::kUdpBlocked), 1u);
  }
}

// Where one round trip takes longer than that nothing has come on any way by then.
TEST(UdpScenario, WhereNothingHasComeYetUdpIsNoMoreBlockedThanTheRest) {
  World world(clean(milliseconds(700)));
  world.client.send(kStdio, 2'000'000);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(60)));
  for (const Host* host : {&world.client, &world.server})
    EXPECT_FALSE(host->has_event(SessionEventKind::kUdpBlocked));
}

WorldSettings firewalled(Duration delay) {
  WorldSettings settings = clean(delay);
  settings.firewall = settings.client_tells_ports = true;
  return settings;
}

// The server sends first to where the client says that it sends from: two round trips instead of one, and no port is open.
TEST(UdpScenario, AFirewallLetsInWhatAnswersTheServer) {
  for (const Duration delay : {milliseconds(5), milliseconds(50), milliseconds(300)}) {
    World world(firewalled(delay));
    world.client.send(kStdio, 2'000'000);
    // And the time that the first record takes on the slow pipe.
    EXPECT_TRUE(world.run_until([&] { return world.client.session().has_proved_datagram_channel(); },
                                4 * delay + milliseconds(50)));
    EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(60)));
    EXPECT_FALSE(world.client.has_event(SessionEventKind::kUdpBlocked));
    for (const Host* host : {&world.client, &world.server}) {
      for (ChannelId id = 0; id < 4; ++id) EXPECT_TRUE(host->session().channel(id)->proved()) << id;
    }
    EXPECT_TRUE(world.server.intact());
  }
}

// What the server sends first comes, and nothing goes up: as where nothing comes at all, with few probes.
TEST(UdpScenario, WhereUdpIsBlockedUpwardsNeitherEndUsesIt) {
  WorldSettings settings = firewalled(milliseconds(20));
  settings.channels = 16;
  settings.up.cut = true;
  World world(settings);
  std::uint64_t up = 0;
  std::uint64_t down = 0;
  world.on_datagram = [&](Role from, Bytes frames, bool) {
    (from == Role::kClient ? up : down) += frames.size() + kSealOverhead;
  };
  world.client.send(kStdio, 1000);
  world.run_until([] { return false; }, seconds(10));
  EXPECT_TRUE(world.client.has_event(SessionEventKind::kUdpBlocked));
  EXPECT_FALSE(world.server.session().has_proved_datagram_channel());
  EXPECT_EQ(world.server.session().wished_links(), 16u);
  EXPECT_LE(up, 16 * 10 * 1200u) << "as often as the back-off of each channel has it";
  EXPECT_LE(down, Paths::kUnheardBytes);
}

TEST(UdpScenario, AFirewallLetsInWhatAnswersTheServerWhereMuchIsLost) {
  WorldSettings settings = firewalled(milliseconds(50));
  settings.up.loss = settings.down.loss = 0.1;
  World world(settings);
  world.client.send(kStdio, 10'000'000);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(60)));
  for (ChannelId id = 0; id < 4; ++id) EXPECT_TRUE(world.client.session().channel(id)->proved()) << id;
}

// A client of before says no ports: all goes by SSH.
TEST(UdpScenario, AFirewallIsNotPassedWhereTheClientSaysNoPorts) {
  WorldSettings settings = firewalled(milliseconds(50));
  settings.client_tells_ports = false;
  World world(settings);
  world.client.send(kStdio, 2'000'000);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(60)));
  EXPECT_TRUE(world.client.has_event(SessionEventKind::kUdpBlocked));
}

// Behind a NAT that gives other ports what the server sends there reaches nobody, or somebody else: it is little.
TEST(UdpScenario, WhoIsNotWhereItSaysIsSentLittle) {
  World world(firewalled(milliseconds(20)));
  world.client.address = kClientAddress + 1;
  std::uint64_t sent = 0;
  world.on_datagram = [&](Role from, Bytes frames, bool) {
    if (from == Role::kServer) sent += frames.size() + kSealOverhead;
  };
  world.client.send(kStdio, 2'000'000);
  world.run_until([] { return false; }, seconds(3600));
  EXPECT_TRUE(world.server.ended(kStdio));
  EXPECT_GE(sent, 5u * 1200) << "it goes on for a while";
  EXPECT_LE(sent, Paths::kUnheardBytes);
}

TEST(UdpScenario, LittleStandsOnSshUntilUdpIsDecided) {
  World world(blocked(milliseconds(100)));
  world.client.send(kStdio, 2'000'000);
  std::uint64_t most = 0;
  world.run_until(
      [&] {
        const Channel* ssh = world.client.session().channel(kSshChannel);
        if (!world.client.has_event(SessionEventKind::kUdpBlocked)) {
          most = std::max(most, ssh->sent.bytes_outstanding());
        }
        return world.server.ended(kStdio);
      },
      seconds(20));
  EXPECT_TRUE(world.server.ended(kStdio));
  EXPECT_LE(most, Session::kStreamChannelWindow + 1000) << "control frames besides";
  EXPECT_GT(most, Session::kStreamChannelWindow / 2);
}

// Where UDP is blocked a rate that was told holds all the same: in each second, and it is used.
TEST(UdpScenario, AToldRateHoldsOverSsh) {
  for (const double rate : {2e4, 2e5}) {
    WorldSettings settings = blocked(milliseconds(20));
    settings.max_stream_rate = rate;
    World world(settings);
    world.client.send(kStdio, 20'000'000);
    std::uint64_t before = 0;
    for (int second = 1; second <= 10; ++second) {
      world.run_until([] { return false; }, seconds(second));
      const std::uint64_t received = world.server.received(kStdio);
      EXPECT_LE(static_cast<double>(received - before), 1.1 * rate + Session::kStreamChannelWindow / 4.0);
      before = received;
    }
    EXPECT_GE(static_cast<double>(before), 0.8 * 10 * rate) << rate;
    EXPECT_TRUE(world.server.intact());
  }
}

TEST(UdpScenario, AllChannelsAreProvedBothWays) {
  World world(clean());
  const auto proved = [&] {
    return count(world.client, SessionEventKind::kChannelProved) >= 5 &&
           count(world.server, SessionEventKind::kChannelProved) >= 5;
  };
  EXPECT_TRUE(world.run_until(proved, milliseconds(300)));
  EXPECT_FALSE(world.client.has_event(SessionEventKind::kUdpBlocked));
}

TEST(UdpScenario, OneThatHearsNothingByUdpIsTold) {
  WorldSettings settings = clean();
  settings.down.cut = true;
  World world(settings);
  world.server.send(kStdio, 200'000);
  world.client.send(kStdio, 2'000'000);
  EXPECT_TRUE(
      world.run_until([&] { return world.server.ended(kStdio) && world.client.ended(kStdio); }, seconds(60)));
  world.run_until([] { return false; }, seconds(65));
  EXPECT_EQ(count(world.client, SessionEventKind::kUdpOneWay), 1u);
  EXPECT_EQ(count(world.server, SessionEventKind::kUdpOneWay), 0u);
  EXPECT_TRUE(world.client.session().has_proved_datagram_channel());
}

TEST(UdpScenario, NothingIsToldWhereUdpGoesBothWaysOrNone) {
  for (const bool both : {true, false}) {
    World world(both ? clean() : blocked(milliseconds(10)));
    world.client.send(kStdio, 2'000'000);
    world.run_until([] { return false; }, seconds(10));
    EXPECT_TRUE(world.server.ended(kStdio));
    EXPECT_FALSE(world.client.has_event(SessionEventKind::kUdpOneWay));
    EXPECT_FALSE(world.server.has_event(SessionEventKind::kUdpOneWay));
  }
}

TEST(UdpScenario, ComesBackLongAfterItWasGivenUp) {
  World world(blocked(milliseconds(10)));
  world.at(seconds(30), [&] { world.cut_all(false); });
  const auto proved = [&] { return world.client.session().has_proved_datagram_channel(); };
  EXPECT_FALSE(world.run_until(proved, seconds(30)));
  EXPECT_TRUE(world.run_until(proved, seconds(30) + Channel::kMaxProbeInterval + seconds(1)));
}

// A download: the server has sent far more to the address than came from it, and must be able to find it
// again.
TEST(UdpScenario, ServerFindsTheClientAgainAfterALongSilence) {
  World world(clean());
  world.server.write(kStdio, 5'000'000);
  ASSERT_TRUE(world.run_until([&] { return world.client.received(kStdio) == 5'000'000; }, seconds(10)));
  const Duration then = world.now().time_since_epoch();
  world.cut_all(true);
  world.server.write(kStdio, 100'000);
  world.at(then + seconds(20), [&] { world.cut_all(false); });
  const auto back = [&] { return world.server.session().has_proved_datagram_channel(); };
  world.run_until([&] { return !back(); }, then + seconds(20));
  EXPECT_FALSE(back());
  EXPECT_TRUE(world.run_until(back, then + seconds(20) + Channel::kMaxProbeInterval + seconds(1)));
}

TEST(UdpScenario, IdleSessionsSayLittleAndStayProved) {
  World world(clean());
  world.run_until([] { return false; }, seconds(5));
  const std::uint64_t sent = world.up(0).offered, wakes = world.client.wakes;
  world.run_until([] { return false; }, seconds(605));
  // 600 s / 15 s x 4 channels: a ping each way and its report.
  const std::uint64_t packets = world.up(0).offered - sent;
  EXPECT_GE(packets, 4 * 600 / 15 - 8u);
  EXPECT_LE(packets, 4 * 4 * 600 / 15u);
  EXPECT_LE(world.client.wakes - wakes, 20 * packets);
  EXPECT_EQ(count(world.client, SessionEventKind::kChannelDoubted), 0u);
}

// Reports come by the control link then, and later: they are waited for.
TEST(UdpScenario, WhereUdpGoesOneWayIdleSessionsSayLittle) {
  for (const Duration delay : {milliseconds(5), milliseconds(50), milliseconds(300)}) {
    for (const Duration closes : {seconds(0), seconds(10)}) {
      World world(clean(delay));
      world.at(closes, [&] { world.each_down([](LinkSettings& link) { link.cut = true; }); });
      world.client.write(kStdio, 100'000);
      world.run_until([] { return false; }, seconds(40));
      EXPECT_TRUE(world.client.session().has_proved_datagram_channel());
      const std::uint64_t sent = world.up(0).offered;
      world.run_until([] { return false; }, seconds(640));
      EXPECT_LE(world.up(0).offered - sent, 2 * 4 * 600 / 15u)
          << to_seconds(delay) << " s, from " << to_seconds(closes) << " s on";
    }
  }
}

// Half an hour with one direction of UDP closed: what is kept of packets that nothing answers stays little.
TEST(UdpScenario, OneWayUdpKeepsNoHistory) {
  WorldSettings settings = clean();
  settings.down.cut = true;
  World world(settings);
  world.client.write(kStdio, 3'000'000);
  ASSERT_TRUE(world.run_until([&] { return world.server.received(kStdio) == 3'000'000; }, seconds(30)));
  world.run_until([] { return false; }, seconds(1800));
  for (ChannelId id = 0; id < 4; ++id) {
    EXPECT_LT(
        world.server.session().channel(id)->sent.next() - world.server.session().channel(id)->sent.first(),
        2000u);
    EXPECT_LT(
        world.client.session().channel(id)->sent.next() - world.client.session().channel(id)->sent.first(),
        2000u);
  }
}

// A keepalive is no sign of life: where probe time-outs are long a channel that is dead is left all the same.
TEST(UdpScenario, ADeadChannelOfALongPathIsLeft) {
  WorldSettings settings = clean(milliseconds(1300));
  settings.channels = 1;
  World world(settings);
  world.client.write(kStdio, 500);
  world.run_until([] { return false; }, seconds(6));
  ASSERT_TRUE(world.client.session().has_proved_datagram_channel());
  world.cut_all(true);
  world.client.send(kStdio, 500);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(90)));
  EXPECT_EQ(world.server.received(kStdio), 1000u);
}

std::size_t datagram_channels(const Host& host) {
  std::size_t count = 0;
  host.session().for_each_channel([&](const Channel& channel) { count += channel.is_datagram() ? 1 : 0; });
  return count;
}

TEST(UdpScenario, TheSideWithFewerChannelsDecides) {
  for (const auto& [ours, theirs] : {std::pair{8U, 3U}, std::pair{3U, 8U}}) {
    WorldSettings settings = clean();
    settings.channels = ours;
    settings.server_channels = theirs;
    World world(settings);
    world.client.send(kStdio, 2'000'000);
    world.server.send(kStdio, 2'000'000);
    ASSERT_TRUE(world.run_until([&] { return world.server.ended(kStdio) && world.client.ended(kStdio); },
                                seconds(20)));
    EXPECT_TRUE(world.server.intact() && world.client.intact());
    for (const Host* host : {&world.client, &world.server}) {
      EXPECT_EQ(datagram_channels(*host), 3U) << ours;
      EXPECT_EQ(count(*host, SessionEventKind::kSet), 1U) << ours;
    }
  }
}

// By one TCP connection less than by four, of which each is as fast.
TEST(UdpScenario, WithoutUdpAllTcpConnectionsCarryData) {
  std::vector<Time> ends;
  for (const ChannelId links : {1, 4}) {
    WorldSettings settings = blocked(milliseconds(20));
    settings.ssh_rate_bps = 10e6;
    World world(settings);
    for (ChannelId i = 0; i < links; ++i) world.connect_tcp(static_cast<ChannelId>(kFirstTcpChannel + i));
    world.client.send(kStdio, 10'000'000);
    world.server.send(kStdio, 10'000'000);
    EXPECT_EQ(world.client.session().wished_links(), 1U);
    ASSERT_TRUE(world.run_until([&] { return world.server.ended(kStdio) && world.client.ended(kStdio); },
                                seconds(30)));
    EXPECT_TRUE(world.server.intact() && world.client.intact());
    EXPECT_EQ(world.client.session().wished_links(), 4U);
    EXPECT_EQ(world.server.session().wished_links(), 4U);
    ends.push_back(world.now());
  }
  EXPECT_LE(ends[1] - Time{}, (ends[0] - Time{}) / 2);
}

// What the TCP connection carries is no less than UDP, here, so it is three times as fast and more; both ways.
TEST(UdpScenario, WhereUdpIsThrottledTheTcpConnectionHelps) {
  WorldSettings settings = clean(milliseconds(20));
  settings.up.rate_bps = settings.down.rate_bps = 5e6;
  settings.ssh_rate_bps = 50e6;
  settings.tries_links = true;
  World world(settings);
  world.connect_tcp(kFirstTcpChannel);
  world.client.send(kStdio, 40'000'000);
  world.server.send(kStdio, 40'000'000);
  EXPECT_TRUE(
      world.run_until([&] { return world.server.ended(kStdio) && world.client.ended(kStdio); }, seconds(25)));
  EXPECT_TRUE(world.server.intact() && world.client.intact());
}

// A slower one is tried, in vain: little goes that way.
TEST(UdpScenario, ASlowTcpConnectionIsTriedInVain) {
  WorldSettings settings = clean(milliseconds(20));
  settings.ssh_rate_bps = 2e6;
  settings.tries_links = true;
  World world(settings);
  world.connect_tcp(kFirstTcpChannel);
  world.client.send(kStdio, 40'000'000);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(20)));
  EXPECT_TRUE(world.server.intact());
  const ChannelStatistics& link = world.client.session().channel(kFirstTcpChannel)->statistics;
  EXPECT_GT(link.bytes_sent, LinkTrial::kLeastRecord);
  EXPECT_LT(link.bytes_sent, 100'000u);
}

// Both ends: the server learns it from the second TCP connection.
TEST(UdpScenario, WhereNoneCameBeforeDataDoNotWaitForUdp) {
  WorldSettings settings = blocked(milliseconds(60));
  settings.ssh_rate_bps = 20e6;
  settings.client_doubts_udp = true;
  World world(settings);
  EXPECT_EQ(world.client.session().wished_links(), 4U);
  EXPECT_EQ(world.server.session().wished_links(), 4U);
  for (ChannelId i = 0; i < 4; ++i) world.connect_tcp(static_cast<ChannelId>(kFirstTcpChannel + i));
  world.client.send(kStdio, 4'000'000);
  world.server.send(kStdio, 4'000'000);
  const auto done = [&] { return world.server.ended(kStdio) && world.client.ended(kStdio); };
  EXPECT_TRUE(world.run_until(done, seconds(1))) << "UDP was waited for";
  EXPECT_FALSE(world.client.has_event(SessionEventKind::kUdpBlocked)) << "this run knows nothing yet";
  world.run_until([] { return false; }, seconds(2));
  EXPECT_EQ(count(world.client, SessionEventKind::kUdpBlocked), 1U);
  EXPECT_TRUE(world.server.intact() && world.client.intact());
}

TEST(UdpScenario, WhereNoneCameBeforeUdpIsUsedAllTheSameWhenItComes) {
  WorldSettings settings = clean();
  settings.client_doubts_udp = true;
  World world(settings);
  world.client.send(kStdio, 4'000'000);
  ASSERT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(20)));
  EXPECT_TRUE(world.server.intact());
  EXPECT_EQ(world.client.session().wished_links(), 1U);
  EXPECT_FALSE(world.client.has_event(SessionEventKind::kUdpBlocked));
  EXPECT_GE(world.up(0).offered, 3000U) << "datagrams";
}

TEST(UdpScenario, ALinkThatEndsAmongOthersLosesNothing) {
  WorldSettings settings = blocked(milliseconds(20));
  settings.ssh_rate_bps = 10e6;
  World world(settings);
  for (ChannelId i = 0; i < 4; ++i) world.connect_tcp(static_cast<ChannelId>(kFirstTcpChannel + i));
  world.at(milliseconds(1500), [&] { world.end_tcp(kFirstTcpChannel + 3); });
  world.at(milliseconds(2000), [&] { world.end_tcp(kFirstTcpChannel); });
  world.client.send(kStdio, 10'000'000);
  world.server.send(kStdio, 10'000'000);
  ASSERT_TRUE(
      world.run_until([&] { return world.server.ended(kStdio) && world.client.ended(kStdio); }, seconds(30)));
  EXPECT_TRUE(world.server.intact() && world.client.intact());
}

// Datagrams come through again, or only one way: TCP connections are wanted as long as they are of use.
TEST(UdpScenario, MoreThanOneTcpConnectionIsWantedWhereDatagramsFail) {
  World world(blocked(milliseconds(10)));
  world.run_until([] { return false; }, seconds(3));
  EXPECT_EQ(world.client.session().wished_links(), 4U);
  world.cut_all(false);
  world.client.write(kStdio, 1000);
  world.server.write(kStdio, 1000);
  EXPECT_TRUE(world.run_until(
      [&] {
        return world.client.session().wished_links() == 1 && world.server.session().wished_links() == 1;
      },
      seconds(60)));
}

// A network that throttles UDP, or drops much of it, may carry TCP well: what UDP carries stays, and TCP carries the rest.
TEST(UdpScenario, ATcpConnectionHelpsWhereMuchOfUdpIsLost) {
  for (const double loss : {0.0, 0.3, 0.6}) {
    WorldSettings settings = clean(milliseconds(15));
    settings.up.rate_bps = settings.down.rate_bps = 50e6;
    settings.up.loss = settings.down.loss = loss;
    if (loss == 0) settings.up.police_bps = settings.down.police_bps = 1e6;
    settings.ssh_rate_bps = 20e6;
    World world(settings);
    world.connect_tcp(kFirstTcpChannel);
    world.client.send(kStdio, 30'000'000);
    world.server.send(kStdio, 30'000'000);
    EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio) && world.client.ended(kStdio); },
                                seconds(30)))
        << loss << ": " << world.server.received(kStdio) << " up, " << world.client.received(kStdio)
        << " down";
    EXPECT_TRUE(world.server.intact() && world.client.intact());
  }
}

// What a path loses by itself is no reason to take TCP, which loses there as well.
TEST(UdpScenario, ATcpConnectionCarriesNoDataBesideFairDatagrams) {
  WorldSettings settings = clean(milliseconds(15));
  settings.up.loss = settings.down.loss = 0.1;
  World world(settings);
  world.connect_tcp(kFirstTcpChannel);
  world.client.send(kStdio, 20'000'000);
  ASSERT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(30)));
  EXPECT_LT(world.client.session().channel(kFirstTcpChannel)->statistics.bytes_sent, 200'000U);
}

// Both ends prove a direct TCP connection, each for itself, and it becomes their control link.
TEST(UdpScenario, TcpIsProvedByBothEnds) {
  World world(blocked(milliseconds(10)));
  world.at(milliseconds(100), [&] { world.connect_tcp(256); });
  const auto proved = [&](const Host& host) {
    return std::any_of(host.events.begin(), host.events.end(), [](const SessionEvent& e) {
      return e.kind == SessionEventKind::kChannelProved && e.channel == 256;
    });
  };
  EXPECT_TRUE(world.run_until([&] { return proved(world.client) && proved(world.server); }, seconds(1)));
}

// Whoever stands between has stopped, and its kernel goes on taking what comes: the SSH connection carries on, and the
// link again when it answers.
TEST(UdpScenario, ALinkThatStandsAndCarriesNothingIsPassedOver) {
  WorldSettings settings;
  settings.ssh_rate_bps = 20e6;
  World world(settings);
  world.connect_tcp(kFirstTcpChannel);
  world.client.send(kStdio, 100'000'000);
  world.server.send(kStdio, 100'000'000);
  world.at(seconds(1), [&] { world.cut_all(true); });
  world.at(seconds(5), [&] { world.stall_pipe(kFirstTcpChannel, seconds(60)); });
  world.run_until([] { return false; }, seconds(30));
  const std::uint64_t up = world.server.received(kStdio), down = world.client.received(kStdio);
  world.run_until([] { return false; }, seconds(50));
  EXPECT_GE(world.server.received(kStdio), up + 20'000'000);
  EXPECT_GE(world.client.received(kStdio), down + 20'000'000);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio) && world.client.ended(kStdio); },
                              seconds(200)));
  EXPECT_TRUE(world.server.intact() && world.client.intact());
  EXPECT_TRUE(world.run_until([&] { return !world.client.session().channel(kFirstTcpChannel)->is_silent(); },
                              seconds(200)));
}

WorldSettings known_blocked(double ssh_rate_bps) {
  WorldSettings settings = blocked(milliseconds(20));
  settings.ssh_rate_bps = ssh_rate_bps;
  settings.client_doubts_udp = true;
  return settings;
}

// What it holds comes sooner by the others.
TEST(UdpScenario, OneOfManyLinksThatCarriesNothingIsPassedOverSoon) {
  World world(known_blocked(10e6));
  for (ChannelId i = 0; i < 4; ++i) world.connect_tcp(static_cast<ChannelId>(kFirstTcpChannel + i));
  world.client.send(kStdio, 5'000'000);
  world.server.send(kStdio, 5'000'000);
  world.at(milliseconds(500), [&] { world.stall_pipe(kFirstTcpChannel + 1, seconds(60)); });
  EXPECT_TRUE(
      world.run_until([&] { return world.server.ended(kStdio) && world.client.ended(kStdio); }, seconds(3)));
  EXPECT_TRUE(world.server.intact() && world.client.intact());
  EXPECT_TRUE(world.run_until(
      [&] { return !world.client.session().channel(kFirstTcpChannel + 1)->is_silent(); }, seconds(100)));
}

// Whoever stands between has forgotten them all. Not one after the other is waited for, also by who carried next to nothing.
TEST(UdpScenario, LinksThatCarryNothingAreFoundTogether) {
  World world(known_blocked(20e6));
  for (ChannelId i = 0; i < 4; ++i) world.connect_tcp(static_cast<ChannelId>(kFirstTcpChannel + i));
  world.client.send(kStdio, 20'000'000);
  world.at(milliseconds(500), [&] {
    for (ChannelId i = 0; i < 4; ++i)
      world.stall_pipe(static_cast<ChannelId>(kFirstTcpChannel + i), seconds(100));
  });
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(22)))
      << world.server.received(kStdio);
  EXPECT_TRUE(world.server.intact());
}

// After an outage the SSH connection's TCP waits for long before it sends again what it holds, and the stream for that.
TEST(UdpScenario, ALinkThatComesCarriesWhatStandsOnSsh) {
  World world(known_blocked(20e6));
  world.connect_tcp(kFirstTcpChannel);
  world.client.send(kStdio, 10'000'000);
  world.at(milliseconds(300), [&] {
    world.stall_pipe(kFirstTcpChannel, seconds(100));
    world.stall_pipe(kSshChannel, seconds(100));
  });
  world.at(seconds(12), [&] { world.connect_tcp(kFirstTcpChannel + 1); });
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(20)))
      << world.server.received(kStdio);
  EXPECT_TRUE(world.server.intact());
}

// The network is away for 100 s while nothing is to be sent, and what the SSH connection said meanwhile stays there for long.
void rest_through_an_outage(World& world) {
  world.client.write(kStdio, 1000);
  world.at(seconds(5), [&world] {
    world.cut_all(true);
    world.stall_pipes(seconds(300));
  });
  world.at(seconds(105), [&world] { world.cut_all(false); });
  world.run_until([] { return false; }, seconds(106));
}

TEST(UdpScenario, WhoHasRestedThroughAnOutageFindsWaysAtOnce) {
  World world(WorldSettings{});
  rest_through_an_outage(world);
  world.client.write(kStdio, 1000);
  EXPECT_TRUE(world.run_until([&] { return world.server.received(kStdio) == 2000; }, seconds(108)));
  world.server.write(kStdio, 1000);
  EXPECT_TRUE(world.run_until([&] { return world.client.received(kStdio) == 1000; }, seconds(109)));
  EXPECT_TRUE(world.server.intact() && world.client.intact());
}

TEST(UdpScenario, WhoSendsInAnOutageFindsWaysSoonAfterIt) {
  World world(WorldSettings{});
  world.at(seconds(20), [&world] { world.client.write(kStdio, 1000); });
  rest_through_an_outage(world);
  EXPECT_TRUE(world.run_until([&] { return world.server.received(kStdio) == 2000; }, seconds(107)));
  EXPECT_TRUE(world.client.has_event(SessionEventKind::kWaySought));
}

// Nobody asks for what has never been.
TEST(UdpScenario, WhereNoUdpEverCameNoWayIsSought) {
  WorldSettings settings = blocked(milliseconds(20));
  World world(settings);
  std::uint64_t datagrams = 0;
  world.on_datagram = [&](Role, Bytes, bool) { ++datagrams; };
  world.run_until([] { return false; }, seconds(100));
  const std::uint64_t at_rest = std::exchange(datagrams, 0);
  for (int i = 0; i < 50; ++i) world.at(seconds(100 + 2 * i), [&] { world.client.write(kStdio, 1000); });
  world.run_until([] { return false; }, seconds(200));
  EXPECT_LE(datagrams, at_rest);
}

// Further SSH connections carry as much as the first, and are not held up by it.
TEST(UdpScenario, SshConnectionsShareTheDataAndOneThatStallsIsPassedOver) {
  WorldSettings settings = known_blocked(10e6);  // each
  settings.links_go_by_ssh = true;
  World world(settings);
  world.connect_tcp(kFirstTcpChannel);
  world.connect_tcp(kFirstTcpChannel + 1);
  world.client.send(kStdio, 20'000'000);
  world.run_until([] { return false; }, seconds(3));
  for (const ChannelId id : {kSshChannel, kFirstTcpChannel, ChannelId{kFirstTcpChannel + 1}})
    EXPECT_GE(world.client.session().channel(id)->statistics.bytes_covered, 2'500'000u) << id;
  world.stall_pipe(kSshChannel, seconds(100));
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(9)))
      << world.server.received(kStdio);
  EXPECT_TRUE(world.server.intact());
}

// What it carried is forgotten by then, for reports went out on it meanwhile.
TEST(UdpScenario, ALinkThatWasPassedOverWhileIdleComesBack) {
  World world(WorldSettings{});
  world.connect_tcp(kFirstTcpChannel);
  world.cut_all(true);
  const auto write_both = [&] {
    world.client.write(kStdio, 1000);
    world.server.write(kStdio, 1000);
  };
  write_both();
  world.run_until([] { return false; }, seconds(4));
  world.stall_pipe(kFirstTcpChannel, seconds(60));
  world.at(seconds(5), write_both);
  world.run_until([] { return false; }, seconds(40));
  EXPECT_TRUE(world.client.session().channel(kFirstTcpChannel)->is_silent());
  world.run_until([] { return false; }, seconds(100));
  EXPECT_FALSE(world.client.session().channel(kFirstTcpChannel)->is_silent());
  EXPECT_FALSE(world.server.session().channel(kFirstTcpChannel)->is_silent());
}

}  // namespace
}  // namespace mcdtp::sim
