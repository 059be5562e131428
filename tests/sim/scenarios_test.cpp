#include <gtest/gtest.h>

#include "tests/sim/world.h"

namespace mcdtp::sim {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;

WorldSettings both_ways(LinkSettings link) {
  WorldSettings settings;
  settings.up = settings.down = link;
  return settings;
}

LinkSettings course_link() {
  LinkSettings link;
  link.rate_bps = 100e6;
  link.delay = milliseconds(50);
  link.loss = 0.05;
  return link;
}

// Sends `size` bytes up and asserts that they come whole, within `slack` x the link's own time and `start`
// besides.
void transfer(World& world, std::uint64_t size, const LinkSettings& link, double share, Duration start) {
  world.client.send(kStdio, size);
  const double limit = static_cast<double>(size) / (World::limit(link) * share);
  const bool done = world.run_until([&] { return world.server.ended(kStdio); }, start + from_seconds(limit));
  EXPECT_TRUE(done) << world.server.received(kStdio) << " of " << size << " after " << world.seconds_passed()
                    << " s";
  EXPECT_EQ(world.server.received(kStdio), done ? size : world.server.received(kStdio));
  EXPECT_TRUE(world.server.intact());
  std::cout << "share " << static_cast<double>(size) / world.seconds_passed() / World::limit(link)
            << ", lost " << world.client.session().statistics().packets_lost << " of "
            << world.client.session().statistics().packets_sent << ", spurious "
            << world.client.session().statistics().spurious_losses << "\n";
}

TEST(Bulk, CleanLink) {
  LinkSettings link;
  link.rate_bps = 100e6;
  link.delay = milliseconds(25);
  World world(both_ways(link));
  transfer(world, 50 * kMegabyte, link, 0.8, seconds(1));
}

TEST(Bulk, LossyLongLink) {
  World world(both_ways(course_link()));
  transfer(world, 100 * kMegabyte, course_link(), 0.8, seconds(2));
}

TEST(Bulk, GigabitLink) {
  LinkSettings link;
  link.rate_bps = 1e9;
  link.delay = milliseconds(25);
  link.loss = 0.001;
  World world(both_ways(link));
  transfer(world, 500 * kMegabyte, link, 0.8, seconds(1));
}

}  // namespace
}  // namespace mcdtp::sim
