#include <gtest/gtest.h>

#include "tests/sim/world.h"

// What the two ends of a stream may do, on a link that loses one packet in twenty.
namespace mcdtp::sim {
namespace {

WorldSettings lossy() {
  WorldSettings settings;
  settings.channels = 4;
  settings.up.rate_bps = settings.down.rate_bps = 20e6;
  settings.up.delay = settings.down.delay = milliseconds(10);
  settings.up.loss = settings.down.loss = 0.05;
  return settings;
}

void let_pass(World& world, Duration time) {
  world.run_until([] { return false; }, world.now().time_since_epoch() + time);
}

TEST(StreamScenario, PausedReaderStopsTheSender) {
  World world(lossy());
  world.server.pause_reading(kStdio, true);
  world.client.send(kStdio, 40'000'000);
  let_pass(world, seconds(10));
  const std::uint64_t held = world.client.session().streams().buffered();
  const std::uint64_t sent = world.client.session().statistics().bytes_sent;
  EXPECT_EQ(world.server.received(kStdio), 0u);
  // Nobody has read: the window never grew beyond what arrived in a few round trips.
  EXPECT_LT(held, Streams::kWriteAhead + 2 * kInitialStdioWindow);
  let_pass(world, seconds(10));
  EXPECT_EQ(world.client.session().streams().buffered(), held);
  EXPECT_LT(world.client.session().statistics().bytes_sent - sent, 20'000u) << "keepalives and reports only";
  world.server.pause_reading(kStdio, false);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(60)));
  EXPECT_EQ(world.server.received(kStdio), 40'000'000u);
  EXPECT_TRUE(world.server.intact());
}

TEST(StreamScenario, HalfClose) {
  World world(lossy());
  world.client.send(kStdio, 100'000);
  world.server.on_received = [&](StreamId id, std::uint64_t) {
    if (world.server.ended(id)) world.server.send(id, 300'000);
  };
  EXPECT_TRUE(world.run_until([&] { return world.client.ended(kStdio); }, seconds(5)));
  EXPECT_EQ(world.server.received(kStdio), 100'000u);
  EXPECT_EQ(world.client.received(kStdio), 300'000u);
}

TEST(StreamScenario, EmptyStreamsEnd) {
  World world(lossy());
  world.client.finish(kStdio);
  world.server.finish(kStdio);
  world.server.finish(kStderr);
  EXPECT_TRUE(world.run_until(
      [&] { return world.client.ended(kStdio) && world.client.ended(kStderr) && world.server.ended(kStdio); },
      seconds(3)));
}

// host yes | head: the reader wants no more, and the writer learns it.
TEST(StreamScenario, StopEndsAnEndlessWriter) {
  World world(lossy());
  world.server.write(kStdio, std::uint64_t{1} << 40);
  ASSERT_TRUE(world.run_until([&] { return world.client.received(kStdio) > 500'000; }, seconds(5)));
  world.client.stop(kStdio);
  EXPECT_TRUE(world.run_until([&] { return world.server.was_stopped(kStdio); },
                              world.now().time_since_epoch() + seconds(2)));
  EXPECT_TRUE(world.run_until([&] { return world.client.session().streams().read_to_end(kStdio); },
                              world.now().time_since_epoch() + seconds(2)));
  EXPECT_EQ(world.server.session().streams().buffered(), 0u);
  EXPECT_FALSE(world.client.session().peer_failed());
}

TEST(StreamScenario, ResetIsToldAndOthersGoOn) {
  World world(lossy());
  const StreamId other = world.client.open("x");
  world.client.write(kStdio, 5'000'000);
  world.client.send(other, 1'000'000);
  world.at(milliseconds(300), [&] { world.client.reset(kStdio); });
  EXPECT_TRUE(
      world.run_until([&] { return world.server.ended(kStdio) && world.server.ended(other); }, seconds(5)));
  EXPECT_TRUE(world.server.was_reset(kStdio));
  EXPECT_FALSE(world.server.was_reset(other));
  EXPECT_EQ(world.server.received(other), 1'000'000u);
  EXPECT_TRUE(world.server.intact());
}

// Session credit must come back from streams that were stopped and reset: far more goes by than it ever was.
TEST(StreamScenario, CreditOfAbandonedStreamsComesBack) {
  World world(lossy());
  StreamId last = 0;
  for (int i = 0; i < 40; ++i) {
    world.at(milliseconds(200 * i), [&world, &last, i] {
      const StreamId id = last = world.client.open("x");
      world.client.write(id, 3'000'000);
      world.at(milliseconds(200 * i + 150),
               [&world, id, i] { i % 2 == 0 ? world.client.reset(id) : world.server.stop(id); });
    });
  }
  world.at(seconds(8), [&] { world.client.send(kStdio, 2'000'000); });
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(14)));
  EXPECT_EQ(world.server.received(kStdio), 2'000'000u);
  EXPECT_FALSE(world.server.session().peer_failed());
}

TEST(StreamScenario, TwoThousandStreamsOneAfterAnother) {
  WorldSettings settings = lossy();
  settings.up.loss = settings.down.loss = 0;
  settings.up.delay = settings.down.delay = milliseconds(1);
  World world(settings);
  constexpr StreamId kLast = kFirstClientStream + 2 * 1999;
  world.server.on_received = [&](StreamId id, std::uint64_t total) {
    if (world.server.ended(id)) world.server.send(id, total);
  };
  const auto next = [&] { return world.client.send(world.client.open("echo"), 100); };
  world.client.on_received = [&](StreamId id, std::uint64_t) {
    if (world.client.ended(id) && id != kLast) next();
  };
  next();
  EXPECT_TRUE(world.run_until([&] { return world.client.ended(kLast); }, seconds(20)));
  let_pass(world, seconds(1));
  EXPECT_EQ(world.client.session().streams().count(), 2u);
  EXPECT_EQ(world.server.session().streams().count(), 2u);
}

}  // namespace
}  // namespace mcdtp::sim
