#include <gtest/gtest.h>

#include "tests/sim/world.h"

// --memory is a bound on what both ends hold, whatever their applications do.
namespace mcdtp::sim {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

// Runs, and keeps the largest use of memory on either side.
struct Watched {
  explicit Watched(WorldSettings settings) : world(std::move(settings)) {}
  bool run_until(const std::function<bool()>& done, Duration limit) {
    return world.run_until(
        [&] {
          most = std::max({most, world.client.session().streams().memory_in_use(),
                           world.server.session().streams().memory_in_use()});
          return done();
        },
        limit);
  }

  World world;
  std::uint64_t most = 0;
};

WorldSettings fast(std::uint64_t memory) {
  WorldSettings settings;
  settings.up.rate_bps = settings.down.rate_bps = 300e6;
  settings.up.delay = settings.down.delay = milliseconds(40);
  settings.up.loss = settings.down.loss = 0.02;
  settings.up.queue_bytes = settings.down.queue_bytes = 3'000'000;
  settings.memory = memory;
  return settings;
}

class Memory : public testing::TestWithParam<std::uint64_t> {};

// A hundred streams whose readers are paused, both ways, beside one each way that goes on.
TEST_P(Memory, PausedStreamsNeitherExceedItNorStopAnother) {
  constexpr std::uint64_t kPaused = 400'000, kBulk = 15'000'000;
  Watched watched(fast(GetParam()));
  World& world = watched.world;
  std::vector<StreamId> paused;
  world.server.on_opened = [&](StreamId id, const std::string&) { world.server.send(id, kPaused); };
  for (int i = 0; i < 100; ++i) {
    const StreamId id = world.client.open("x");
    paused.push_back(id);
    world.client.pause_reading(id, true);
    world.server.pause_reading(id, true);
    world.client.send(id, kPaused);
  }
  world.at(seconds(3), [&] {
    world.client.send(kStdio, kBulk);
    world.server.send(kStdio, kBulk);
  });
  const auto bulk_done = [&] { return world.client.ended(kStdio) && world.server.ended(kStdio); };
  EXPECT_TRUE(watched.run_until(bulk_done, seconds(60)));
  EXPECT_LE(watched.most, GetParam());
  for (const StreamId id : paused) {
    world.client.pause_reading(id, false);
    world.server.pause_reading(id, false);
  }
  const auto all_done = [&] {
    return std::all_of(paused.begin(), paused.end(),
                       [&](StreamId id) { return world.client.ended(id) && world.server.ended(id); });
  };
  EXPECT_TRUE(watched.run_until(all_done, seconds(120)));
  EXPECT_LE(watched.most, GetParam());
  EXPECT_TRUE(world.client.intact() && world.server.intact());
  EXPECT_FALSE(world.client.session().peer_failed() || world.server.session().peer_failed());
}

// Both ways at once, as fast as they go, and readers that come and go.
TEST_P(Memory, BulkBothWaysWithReadersThatPause) {
  constexpr std::uint64_t kBulk = 25'000'000;
  Watched watched(fast(GetParam()));
  World& world = watched.world;
  world.client.send(kStdio, kBulk);
  world.server.send(kStdio, kBulk);
  for (int i = 1; i <= 20; ++i) {
    world.at(milliseconds(200 * i), [&world, i] {
      world.server.pause_reading(kStdio, i % 2 == 1);
      world.client.pause_reading(kStdio, i % 3 == 1);
    });
  }
  const auto done = [&] { return world.client.ended(kStdio) && world.server.ended(kStdio); };
  EXPECT_TRUE(watched.run_until(done, seconds(60)));
  EXPECT_LE(watched.most, GetParam());
  EXPECT_TRUE(world.client.intact() && world.server.intact());
}

INSTANTIATE_TEST_SUITE_P(Mebibytes, Memory, testing::Values(8 * kMebibyte, 64 * kMebibyte, 256 * kMebibyte));

// Streams of a client that grants much, to a server that has little and says so only after they have been opened.
TEST(MemoryOfTwo, TheSmallerOneStopsNobodyWhoWrites) {
  WorldSettings settings = fast(256 * kMebibyte);
  settings.server_memory = kMinMemory;
  World world(settings);
  for (int i = 0; i < 60; ++i) world.client.open("x");
  world.client.send(kStdio, 5'000'000);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(30)));
  EXPECT_TRUE(world.server.intact());
}

// A short command needs little, however much is allowed.
TEST(MemoryOfAShortCommand, LittleIsUsedForLittle) {
  Watched watched(fast(256 * kMebibyte));
  watched.world.client.send(kStdio, 20'000);
  watched.world.server.send(kStdio, 20'000);
  EXPECT_TRUE(watched.run_until([&] { return watched.world.client.ended(kStdio); }, seconds(5)));
  EXPECT_LE(watched.most, 64u * 1024);
}

}  // namespace
}  // namespace mcdtp::sim
