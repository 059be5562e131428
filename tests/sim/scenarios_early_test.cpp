#include <gtest/gtest.h>

#include "tests/sim/world.h"

// What goes by UDP before any channel is proved.
namespace mcdtp::sim {
namespace {

constexpr Duration kDelay = milliseconds(100);  // one way
// More than the SSH connection holds, and no more than the first packets.
constexpr std::uint64_t kFew = 60'000;

WorldSettings long_path() {
  WorldSettings settings;
  settings.channels = 4;
  settings.up.rate_bps = settings.down.rate_bps = 50e6;
  settings.up.delay = settings.down.delay = kDelay;
  settings.ssh_rate_bps = 2e6;
  return settings;
}

// When all of kFew bytes had come, sent by the server if `down`.
Duration time_of_few(World& world, bool down) {
  Host& from = down ? world.server : world.client;
  Host& to = down ? world.client : world.server;
  from.send(kStdio, kFew);
  EXPECT_TRUE(world.run_until([&] { return to.ended(kStdio); }, seconds(20)));
  EXPECT_TRUE(to.intact());
  return world.now().time_since_epoch();
}

TEST(EarlyData, WhatGoesUpNeedsNoProof) {
  World world(long_path());
  EXPECT_LT(time_of_few(world, false), 2 * kDelay);
}

// The server has heard of the client by then.
TEST(EarlyData, WhatComesDownNeedsNoProof) {
  World world(long_path());
  EXPECT_LT(time_of_few(world, true), 3 * kDelay);
}

TEST(EarlyData, AnAddressThatIsNotTheLogInsHasToProveItself) {
  WorldSettings settings = long_path();
  settings.server_knows_client = false;
  World world(settings);
  std::size_t sent = 0;
  world.on_datagram = [&](Role from, Bytes frames, bool) {
    if (from == Role::kServer && !world.server.session().has_proved_datagram_channel())
      sent += frames.size() + kSealOverhead;
  };
  EXPECT_GT(time_of_few(world, true), 3 * kDelay);
  EXPECT_LE(sent, Paths::kAmplification * 2 * PathMtu::kBase) << "of the two probes that had come";
}

// The SSH connection gets them as soon as it has room for them: UDP is not decided on before a second has passed.
TEST(EarlyData, WhereNoUdpComesThroughItIsNotWaitedFor) {
  for (const bool down : {false, true}) {
    WorldSettings settings = long_path();
    (down ? settings.down : settings.up).cut = true;
    World world(settings);
    EXPECT_LT(time_of_few(world, down), 8 * kDelay) << down;
    const Host& from = down ? world.server : world.client;
    EXPECT_LT(from.session().channel(kSshChannel)->statistics.bytes_sent, 1.2 * kFew) << "each goes once";
  }
}

// UDP is found after early data were given up: what stands on a slow SSH connection goes there all the same.
TEST(EarlyData, AProofThatComesLateTakesOver) {
  WorldSettings settings = long_path();
  settings.ssh_rate_bps = 5e4;
  settings.up.cut = settings.down.cut = true;
  World world(settings);
  world.at(milliseconds(1200), [&] { world.cut_all(false); });
  EXPECT_LT(time_of_few(world, false), milliseconds(1200) + 12 * kDelay);
}

// What stands on an SSH connection that does not move goes by the first TCP connection, although it went early as well.
TEST(EarlyData, ATcpConnectionTakesOverFromAnSshConnectionThatStands) {
  for (const bool down : {false, true}) {
    WorldSettings settings = long_path();
    settings.up.cut = settings.down.cut = true;
    World world(settings);
    world.stall_pipe(kSshChannel, seconds(15));
    world.at(milliseconds(2000), [&] { world.connect_tcp(kFirstTcpChannel); });
    EXPECT_LT(time_of_few(world, down), seconds(5)) << down;
  }
}

// The first packets are lost, and then others come through.
TEST(EarlyData, LostOnesAreSentAgain) {
  WorldSettings settings = long_path();
  settings.up.cut = true;
  World world(settings);
  world.at(milliseconds(50), [&] { world.cut_all(false); });
  EXPECT_LT(time_of_few(world, false), 8 * kDelay);
}

// Whatever the controller: it is no more than an initial window.
TEST(EarlyData, IsAnInitialWindowAtMost) {
  for (const std::string_view congestion : {"auto", "none", "cubic", "daimd"}) {
    WorldSettings settings = long_path();
    settings.congestion = congestion;
    settings.up.cut = true;
    World world(settings);
    std::uint64_t early = 0;
    world.on_datagram = [&](Role from, Bytes frames, bool) {
      if (from == Role::kClient) early += frames.size() + kSealOverhead;
    };
    world.client.send(kStdio, 10 * kFew);
    world.run_until([] { return false; }, milliseconds(900));
    EXPECT_LE(early, kInitialWindow + 5 * PathMtu::kBase) << congestion << ", with the probes";
    EXPECT_GT(early, 5 * PathMtu::kBase) << congestion;
  }
}

}  // namespace
}  // namespace mcdtp::sim
