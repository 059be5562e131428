#include <gtest/gtest.h>

#include <array>
#include <iomanip>
#include <tuple>
#include <utility>

#include "tests/sim/measure.h"

// What `auto` makes of links of all kinds, told nothing: shares of the link's own limit, in virtual time.
namespace mcdtp::sim {
namespace {

constexpr double kMegabyte = 1e6;

// Packets sent beyond those that a transfer of `size` bytes needs on this link, as a share of these.
double excess(World& world, const Path& path, double size) {
  const double payload = 1200 - kSealOverhead - 8;
  const double needed = size / payload / (1 - path.loss);
  return static_cast<double>(world.client.session().statistics().packets_sent) / needed - 1;
}

struct Outcome {
  double share = 0;   // of the link's limit, the start included
  double excess = 0;  // see above
};

// Sends `size` bytes up; they must come whole within five times the link's own time.
Outcome transfer(const Path& path, double size) {
  World world(world_of(path));
  world.client.send(kStdio, static_cast<std::uint64_t>(size));
  const Duration patience = seconds(5) + from_seconds(5 * size / limit_of(path));
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, patience));
  EXPECT_EQ(world.server.received(kStdio), static_cast<std::uint64_t>(size));
  EXPECT_TRUE(world.server.intact());
  const Outcome outcome{size / world.seconds_passed() / limit_of(path), excess(world, path, size)};
  std::cout << std::setprecision(3) << path.mbps << " Mbit/s, " << path.delay_ms << " ms, loss " << path.loss
            << ", queue " << path.queue << ", " << path.channels << " channels: share " << outcome.share
            << ", excess " << outcome.excess << "\n";
  return outcome;
}

TEST(AutoFillsTheLink, CourseLink) {
  const Outcome outcome = transfer({100, 50, 0.05}, 100 * kMegabyte);
  // 0.91 to 0.93; less where the last packet is lost three times over.
  EXPECT_GE(outcome.share, 0.88);
  EXPECT_LE(outcome.excess, 0.03);
}

TEST(AutoFillsTheLink, CleanLink) {
  const Outcome outcome = transfer({50, 25}, 20 * kMegabyte);
  EXPECT_GE(outcome.share, 0.9);
  EXPECT_LE(outcome.excess, 0.03);
}

TEST(AutoFillsTheLink, ShortPathOfTenMegabits) {
  const Outcome outcome = transfer({10, 5}, 5 * kMegabyte);
  EXPECT_GE(outcome.share, 0.9);
  EXPECT_LE(outcome.excess, 0.03);
}

TEST(AutoFillsTheLink, FastLinkWithLittleLoss) {
  const Outcome outcome = transfer({1000, 5, 0.001}, 50 * kMegabyte);
  EXPECT_GE(outcome.share, 0.8);
  EXPECT_LE(outcome.excess, 0.05);
}

// The window must not starve where an RTT is shorter than the wait for a report; 64 products are 4 MB of
// queue.
TEST(AutoFillsTheLink, TenGigabitsInFiftyMicroseconds) {
  EXPECT_GE(transfer({10e3, 0.025, 0, 64}, 25 * kMegabyte).share, 0.7);
}

TEST(AutoFillsTheLink, ShallowQueue) {
  const Outcome outcome = transfer({50, 25, 0.01, 0.25}, 15 * kMegabyte);
  EXPECT_GE(outcome.share, 0.8);
  EXPECT_LE(outcome.excess, 0.08);
}

// The start-up's queue is all that is ever seen of this one, and only for a part of a round.
TEST(AutoFillsTheLink, ShallowQueueWithMuchLoss) {
  EXPECT_GE(transfer({100, 50, 0.1, 0.25}, 40 * kMegabyte).share, 0.75);
}

// The queue comes and goes between two reports, and rounds are over before all that was lost of them is known.
TEST(AutoFillsTheLink, ShortBufferOfAShortPath) {
  struct Case {
    double loss, burst;
    Duration time;
    double share, excess;
  };
  const std::array<Case, 3> cases{
      {{0, 1, seconds(4), 0.95, 0.03}, {0.01, 1, seconds(4), 0.95, 0.03}, {0.1, 4, seconds(7), 0.6, 0.06}}};
  for (const Case& asked : cases) {
    Path path{500, 5, asked.loss, 0.25};
    path.loss_burst = asked.burst;
    const Measured measured = measure(path, asked.time);
    EXPECT_GE(measured.later, asked.share) << asked.loss;
    EXPECT_LE(measured.excess, asked.excess) << asked.loss;
  }
}

// Many rounds pass between two that are sent quietly, and only these tell what the path loses.
TEST(AutoFillsTheLink, MuchLossOnAShortPath) { EXPECT_GE(measure({60, 12.5, 0.1}, seconds(20)).later, 0.95); }

// A round takes 0.6 s: the fewer it takes to come to the rate, the better.
TEST(AutoFillsTheLink, LongPathsFromTheStart) {
  const std::array<std::pair<double, double>, 3> asked{{{6, 0.82}, {10, 0.83}, {50, 0.82}}};
  for (const auto& [mbps, share] : asked) {
    const Measured measured = measure({mbps, 300}, seconds(12));
    EXPECT_GE(measured.whole, share) << mbps;
    EXPECT_LE(measured.excess, 0.04) << mbps;
    EXPECT_TRUE(measured.intact);
  }
}

// The queue that ends a start-up tells the rate: what came until then was a part of a round, most of it silence.
TEST(AutoFillsTheLink, TheFirstQueueTellsTheRate) {
  for (const double mbps : {5.0, 10.0, 20.0}) {
    const Path path{mbps, 10};
    World world(world_of(path));
    world.client.send(kStdio, std::uint64_t{1} << 40);
    world.run_until([] { return false; }, seconds(2));
    EXPECT_GE(static_cast<double>(world.server.received(kStdio)) / 2 / limit_of(path), 0.93) << mbps;
  }
}

// Trains show the rate of a fast path before that is reached: the queue is not overrun by a round of growth.
TEST(AutoFillsTheLink, FastLongPathFromTheStart) {
  const Measured measured = measure({600, 100, 0, 0.25}, seconds(3));
  EXPECT_GE(measured.whole, 0.65);
  EXPECT_LE(measured.excess, 0.01);
  EXPECT_TRUE(measured.intact);
}

// A first train that loses most of itself says how fast it may go: nothing large is tried on top of that.
TEST(AutoFillsTheLink, LongPathThatDropsMostOfTheFirstTrain) {
  Path path{100, 300};
  path.police_mbps = 2;
  const Measured measured = measure(path, seconds(20));
  EXPECT_GE(measured.whole, 0.8);
  // A round at the rate that the first trains show, which the policer lets pass, is 0.7 of what the policer takes in 20 s.
  EXPECT_LE(measured.excess, 0.75);
  EXPECT_TRUE(measured.intact);
}

// A buffer that is hardly longer than the queue that is aimed at, or than a large step: what it drops is not the path's own
// loss, and is not sent again and again.
TEST(AutoFillsTheLink, ShortQueue) {
  const std::array<std::tuple<double, double, double>, 3> asked{
      {{5, 0, 0.01}, {25, 0, 0.01}, {5, 0.01, 0.015}}};
  for (const auto& [delay_ms, loss, excess] : asked) {
    const Measured measured = measure({100, delay_ms, loss, 0.25}, seconds(10));
    EXPECT_GE(measured.later, 0.95) << delay_ms << " ms, loss " << loss;
    EXPECT_LE(measured.excess, excess) << delay_ms << " ms, loss " << loss;
    EXPECT_TRUE(measured.intact);
  }
}

// A queue shorter than a train of the start-up lets much of it fall: that says nothing of the rate.
TEST(AutoFillsTheLink, QueueShorterThanATrain) {
  Path path{100, 50, 0, 0};
  path.least_queue = 9600;
  const Measured measured = measure(path, seconds(8));
  EXPECT_GE(measured.whole, 0.55);
  EXPECT_TRUE(measured.intact);
}

// Packets that overtake each other are not lost, but how far they do has to be learnt.
TEST(AutoFillsTheLink, Jitter) {
  for (const auto& [jitter_ms, excess] : {std::pair{2.0, 0.02}, std::pair{10.0, 0.035}}) {
    Path path{50, 25};
    path.jitter_ms = jitter_ms;
    const Measured measured = measure(path, seconds(6));
    EXPECT_GE(measured.later, 0.9) << jitter_ms;
    EXPECT_LE(measured.excess, excess) << jitter_ms;
    EXPECT_TRUE(measured.intact);
  }
}

// What is delayed for a while looks like a queue, but the RTT changes as much within each round.
TEST(AutoFillsTheLink, RestlessPath) {
  const std::array<std::tuple<double, double, double, double>, 5> asked{{{100, 10, 20, 0.95},
                                                                         {100, 10, 100, 0.95},
                                                                         {100, 10, 400, 0.93},
                                                                         {100, 30, 100, 0.7},
                                                                         {500, 10, 100, 0.8}}};
  for (const auto& [mbps, wander_ms, pace_ms, share] : asked) {
    Path path{mbps, 25, 0.001};
    path.wander_ms = wander_ms;
    path.wander_pace_ms = pace_ms;
    const Measured measured = measure(path, seconds(mbps > 100 ? 8 : 20));
    EXPECT_GE(measured.later, share) << mbps << " Mbit/s, " << wander_ms << " ms in " << pace_ms;
    EXPECT_LE(measured.excess, 0.03) << mbps << " Mbit/s, " << wander_ms << " ms in " << pace_ms;
    EXPECT_LE(measured.queue, 0.6) << mbps << " Mbit/s, " << wander_ms << " ms in " << pace_ms;
    EXPECT_TRUE(measured.intact);
  }
}

// A local radio network: the RTT is now and then a multiple of the smallest, the window holds what goes in such a time, and
// who gives way to a queue that is none does not take what then comes for what the path can do.
TEST(AutoFillsTheLink, RestlessShortPath) {
  const std::array<std::tuple<double, double, double, double, double>, 4> asked{
      {{20, 2, 20, 100, 0.9}, {100, 1, 10, 50, 0.8}, {1000, 0.2, 10, 20, 0.85}, {1000, 0.2, 10, 50, 0.88}}};
  for (const auto& [mbps, delay_ms, wander_ms, pace_ms, share] : asked) {
    Path path{mbps, delay_ms};
    path.wander_ms = wander_ms;
    path.wander_pace_ms = pace_ms;
    const Measured measured = measure(path, seconds(4));
    EXPECT_GE(measured.later, share) << mbps << " Mbit/s, " << wander_ms << " ms";
    EXPECT_LE(measured.excess, 0.1) << mbps << " Mbit/s, " << wander_ms << " ms";
    EXPECT_TRUE(measured.intact);
  }
}

// What such a path loses is its own all the same: a queue that was never there is not taken for one that others fill.
TEST(AutoFillsTheLink, RestlessPathWithLoss) {
  for (const auto& [wander_ms, pace_ms] :
       {std::pair{10.0, 200.0}, std::pair{15.0, 400.0}, std::pair{15.0, 300.0}, std::pair{20.0, 400.0}}) {
    Path path{100, 25, 0.05};
    path.wander_ms = wander_ms;
    path.wander_pace_ms = pace_ms;
    EXPECT_GE(measure(path, seconds(20)).later, 0.88) << wander_ms << " ms in " << pace_ms;
  }
}

// Where a window of four packets is more than the path takes in a round trip, they wait: no more than that.
TEST(AutoFillsTheLink, SlowShortPath) {
  for (const auto& [mbps, delay_ms] : {std::pair{10.0, 0.5}, {5.0, 1.0}, {2.0, 2.5}}) {
    const Measured measured = measure({mbps, delay_ms}, seconds(15));
    EXPECT_GE(measured.later, 0.95) << mbps << " Mbit/s";
    EXPECT_LE(measured.excess, 0.04) << mbps << " Mbit/s";
    EXPECT_LE(measured.queue, 0.5) << mbps << " Mbit/s";
  }
}

// What a late host has missed goes at once, and no rate is lost.
TEST(AutoFillsTheLink, HostsThatStandStillNowAndThen) {
  for (const auto& [loss, burst, stall_ms, share] :
       {std::tuple{0.0, 1.0, 20.0, 0.93}, {0.05, 1.0, 20.0, 0.93}, {0.02, 4.0, 30.0, 0.85}}) {
    Path path{100, 50, loss};
    path.loss_burst = burst;
    path.host_stall_ms = stall_ms;
    const Measured measured = measure(path, seconds(12));
    EXPECT_GE(measured.later, share) << loss << ", " << stall_ms << " ms";
    EXPECT_LE(measured.excess, 0.05) << loss << ", " << stall_ms << " ms";
    EXPECT_TRUE(measured.intact);
  }
}

// Most of the time, as where the processor time of a container is used up: what they do while they may is sent as well as ever,
// and does not become less and less.
TEST(AutoFillsTheLink, HostsThatStandStillMostOfTheTime) {
  for (const auto& [stall_ms, between_ms, share] : {std::tuple{50.0, 20.0, 0.6}, {100.0, 20.0, 0.35}}) {
    Path path{100, 25};
    path.host_stall_ms = stall_ms;
    path.host_between_ms = between_ms;
    const Measured measured = measure(path, seconds(20));
    EXPECT_GE(measured.later, share) << stall_ms << " ms";
    EXPECT_LE(measured.excess, 0.05) << stall_ms << " ms";
    EXPECT_TRUE(measured.intact);
  }
}

// One late round looks like a queue as well, and says nothing of what the path can do.
TEST(AutoFillsTheLink, ShortPathBetweenHostsThatStandStill) {
  Path path{100, 1};
  path.host_stall_ms = 10;
  path.host_between_ms = 30;
  const Measured measured = measure(path, seconds(4));
  EXPECT_GE(measured.later, 0.85);
  EXPECT_LE(measured.excess, 0.07);
  EXPECT_TRUE(measured.intact);
}

TEST(AutoFillsTheLink, Policer) { EXPECT_GE(transfer({100, 25, 0, 1, 8, 20}, 10 * kMegabyte).share, 0.7); }

// What is above a policer's rate is thrown away: it is tried now and then only, and the start-up ends as soon as most of it
// goes that way. Loss of the path is none of its signs.
TEST(AutoFillsTheLink, PolicerThrowsLittleAway) {
  const std::array<std::tuple<double, double, double, double>, 8> asked{{{20, 0, 50, 0.025},
                                                                         {5, 0, 20, 0.06},
                                                                         {10, 0, 80, 0.03},
                                                                         {50, 0, 20, 0.042},
                                                                         {50, 0, 80, 0.035},
                                                                         {20, 0, 80, 0.025},
                                                                         {50, 0.01, 20, 0.055},
                                                                         {50, 0.05, 20, 0.08}}};
  for (const auto& [delay_ms, loss, police_mbps, excess] : asked) {
    Path path{100, delay_ms, loss};
    path.police_mbps = police_mbps;
    const Measured measured = measure(path, seconds(20));
    EXPECT_GE(measured.later, 0.9) << delay_ms << " ms, loss " << loss;
    EXPECT_LE(measured.excess, excess) << delay_ms << " ms, loss " << loss;
    EXPECT_TRUE(measured.intact);
  }
}

// Little is sent quietly, and may have luck where the path loses as well: what is lost at rest tells.
TEST(AutoFillsTheLink, PolicerOnAPathThatLoses) {
  Path path{100, 5, 0.1};
  path.police_mbps = 80;
  EXPECT_GE(measure(path, seconds(15)).later, 0.75);
}

// The buffer holds what goes in half a millisecond: less than the queue that is aimed at, and than a long train.
TEST(AutoFillsTheLink, LocalNetwork) {
  for (const unsigned channels : {1U, 8U}) {
    Path path{1000, 0.2};
    path.channels = channels;
    const Measured measured = measure(path, seconds(2));
    EXPECT_GE(measured.whole, 0.9) << channels;
    EXPECT_LE(measured.excess, 0.08) << channels;
    EXPECT_TRUE(measured.intact);
  }
}

TEST(AutoFillsTheLink, NeverFallsAsChannelsAreAdded) {
  double best = 0;
  for (const unsigned channels : {1U, 2U, 4U, 8U, 16U}) {
    const double share = transfer({20, 25, 0.01, 1, channels}, 10 * kMegabyte).share;
    EXPECT_GE(share, 0.93 * best) << channels << " channels";
    best = std::max(best, share);
  }
}

// ---- after the start, when the rate is known ----

class AutoAfterTheStart : public testing::TestWithParam<Path> {};

double later_share(World& world, double limit, Duration from, Duration until) {
  const auto never = [] { return false; };
  world.run_until(never, from);
  const std::uint64_t before = world.server.received(kStdio);
  world.run_until(never, until);
  EXPECT_TRUE(world.server.intact());
  return static_cast<double>(world.server.received(kStdio) - before) / to_seconds(until - from) / limit;
}

TEST_P(AutoAfterTheStart, FillsTheLink) {
  const Path path = GetParam();
  World world(world_of(path));
  world.client.send(kStdio, std::uint64_t{1} << 40);
  const Duration start = std::max<Duration>(seconds(2), from_seconds(32 * path.delay_ms / 1e3));
  EXPECT_GE(later_share(world, limit_of(path), start, start + start), 0.85);
}

INSTANTIATE_TEST_SUITE_P(Links, AutoAfterTheStart,
                         testing::Values(Path{10, 5, 0.1}, Path{10, 50}, Path{10, 150, 0.05}, Path{20, 150},
                                         Path{20, 50, 0.1}, Path{50, 5, 0.05}, Path{50, 25, 0.01},
                                         Path{200, 10, 0.02}));

// What two channels get of both paths, one each, from 4 s on.
double share_of_both(const std::array<Path, 2>& paths) {
  WorldSettings settings = world_of(paths[0]);
  settings.channels = paths.size();
  double limit = 0;
  for (ChannelId id = 0; id < paths.size(); ++id) {
    settings.own_up[id] = settings.own_down[id] = link_of(paths[id]);
    limit += limit_of(paths[id]);
  }
  World world(settings);
  world.client.send(kStdio, std::uint64_t{1} << 40);
  return later_share(world, limit, seconds(4), seconds(28));
}

// While the quick and slow one has a queue the other may have none, and news of that comes later. Much is up to chance: the
// mean of several.
TEST(AutoFillsTheLink, PathsUnlikeEachOther) {
  double share = 0;
  for (const double loss : {0.0, 0.01}) {
    for (const double more_ms : {0.0, 0.1, 0.2}) {
      share += share_of_both({Path{100, 100 + more_ms, loss}, Path{10, 5 + more_ms, loss}}) / 12;
      share += share_of_both({Path{100, 30 + more_ms, loss}, Path{10, 10 + more_ms, loss}}) / 12;
    }
  }
  EXPECT_GE(share, 0.8);
  std::cout << "share of unlike paths " << share << "\n";
}

// Sends without end; the rate of the link is multiplied at `when`.
void begin_step(World& world, double factor, Duration when) {
  world.client.send(kStdio, std::uint64_t{1} << 40);
  world.at(when, [&world, factor] { world.up(0).settings.rate_bps *= factor; });
}

// `patience` later the new limit is reached.
void step(const Path& path, double factor, Duration patience) {
  World world(world_of(path));
  begin_step(world, factor, seconds(2));
  const Duration from = seconds(2) + patience;
  EXPECT_GE(later_share(world, factor * limit_of(path), from, from + seconds(2)), 0.8);
}

TEST(AutoFollowsTheLink, TenfoldRate) { step({5, 25, 0.01}, 10, seconds(2)); }
TEST(AutoFollowsTheLink, TenthOfTheRate) { step({50, 25, 0.01}, 0.1, seconds(3)); }
TEST(AutoFollowsTheLink, TenfoldRateOfAShortPath) { step({100, 1}, 10, seconds(1)); }

// A queue of a short path has to stand for a while before the rate falls: what overflows meanwhile is sent again, once. How
// much that is depends on the phase in which the change finds us: the mean of five moments.
TEST(AutoFollowsTheLink, LowerRateOfAShortPath) {
  constexpr std::array kMoments{1900, 2000, 2050, 2100, 2150};  // ms
  for (const double factor : {0.8, 0.5, 0.1}) {
    double share = 0, lost = 0;
    for (const int moment : kMoments) {
      const Path path{100, 1, 0.0001};
      World world(world_of(path));
      begin_step(world, factor, milliseconds(moment));
      share += later_share(world, factor * limit_of(path), milliseconds(moment), milliseconds(moment + 2000));
      const SessionStatistics& sent = world.client.session().statistics();
      lost += static_cast<double>(sent.packets_lost) / static_cast<double>(sent.packets_sent);
    }
    EXPECT_GE(share / kMoments.size(), 0.95) << factor;
    EXPECT_LE(lost / kMoments.size(), 0.033) << factor;
  }
}

// What comes in the 8 s after `change`.
double share_after_change(const Path& path, double factor, Duration change) {
  World world(world_of(path));
  world.up(0).settings.rate_bps /= factor;
  world.client.send(kStdio, std::uint64_t{1} << 40);
  world.at(change, [&world, factor] { world.up(0).settings.rate_bps *= factor; });
  return later_share(world, limit_of(path), change, change + seconds(8));
}

// Where the delay wanders, small steps do not show in the rate. Much is up to chance: the mean of eight moments.
TEST(AutoFollowsTheLink, ManifoldRateOfARestlessPath) {
  for (const auto& [mbps, factor, loss, least] :
       {std::tuple{100, 50, 0.01, 0.5}, std::tuple{20, 40, 0.0, 0.3}}) {
    Path path{static_cast<double>(mbps), 25, loss};
    path.wander_ms = 20;
    double share = 0;
    for (int i = 0; i < 8; ++i) share += share_after_change(path, factor, milliseconds(4000 + 250 * i)) / 8;
    EXPECT_GE(share, least) << mbps << " Mbit/s";
  }
}

// Of the limit of `path`: what comes from `from` on, for 5 s. Until `until` a share of `loss` is lost, and then what the path loses.
double share_after_loss(const Path& path, double loss, Duration until, Duration from) {
  WorldSettings settings = world_of(path);
  settings.up.loss = loss;
  World world(settings);
  world.at(until, [&world, own = path.loss] { world.up(0).settings.loss = own; });
  world.client.write(kStdio, std::uint64_t{1} << 44);
  return later_share(world, limit_of(path), from, from + seconds(5));
}

// What an outage in the start-up let through is no ceiling.
TEST(AutoFollowsTheLink, OutageInTheStartUp) {
  for (const auto& [path, loss, until] : {std::tuple{Path{100, 25}, 0.6, milliseconds(400)},
                                          {Path{100, 50, 0.02}, 0.4, seconds(1)},
                                          {Path{50, 150, 0.01}, 0.5, milliseconds(800)}}) {
    EXPECT_GE(share_after_loss(path, loss, until, seconds(10)), 0.8)
        << path.mbps << " Mbit/s, " << path.delay_ms << " ms";
  }
}

// A short outage early in the start-up, where the path loses many at a time itself: the start-up goes on once it is seen that
// what is sent quietly is lost as well. From there on chance would lead it astray.
TEST(AutoFollowsTheLink, OutageInTheStartUpOfALossyPath) {
  for (const auto& [loss, least] : {std::pair{0.05, 0.8}, {0.1, 0.6}}) {
    Path path{400, 50, loss};
    path.loss_burst = 20;
    double share = 0;
    for (int begins = 110; begins < 150; begins += 5) {
      World world(world_of(path));
      world.at(milliseconds(begins), [&world] { world.cut_all(true); });
      world.at(milliseconds(begins + 40), [&world] { world.cut_all(false); });
      world.client.write(kStdio, std::uint64_t{1} << 44);
      share += later_share(world, limit_of(path), seconds(4), seconds(6)) / 8;
    }
    EXPECT_GE(share, least) << loss;
  }
}

void change_delay_at(World& world, Duration when, Duration delay) {
  world.at(when, [&world, delay] { world.each_link([delay](LinkSettings& link) { link.delay = delay; }); });
}

// A longer path looks like one whose queue others keep full.
TEST(AutoFollowsTheLink, PathThatBecomesLonger) {
  for (const auto& [path, delay_ms, least] : {std::tuple{Path{100, 10, 0.005}, 30, 0.8},
                                              {Path{100, 10, 0.05}, 30, 0.8},
                                              {Path{100, 10}, 100, 0.6},
                                              {Path{100, 25, 0.02}, 100, 0.7}}) {
    double share = 0;
    for (const double more_ms : {0, 1, 2}) {
      Path before = path;
      before.delay_ms += more_ms;
      World world(world_of(before));
      change_delay_at(world, seconds(8), milliseconds(delay_ms));
      world.client.write(kStdio, std::uint64_t{1} << 44);
      share += later_share(world, limit_of(path), seconds(8), seconds(38)) / 3;
    }
    EXPECT_GE(share, least) << path.delay_ms << " -> " << delay_ms << " ms, loss " << path.loss;
  }
}

// What looks like the queue of others does not move although we give way to it, and is soon known to be none, whatever the path
// loses.
TEST(AutoFollowsTheLink, PathThatBecomesLongerForGood) {
  for (const auto& [path, delay_ms] : {std::pair{Path{200, 20, 0.01}, 50},
                                       {Path{50, 5, 0.05}, 25},
                                       {Path{200, 50, 0.1}, 100},
                                       {Path{50, 10}, 20}}) {
    World world(world_of(path));
    change_delay_at(world, seconds(8), milliseconds(delay_ms));
    world.client.write(kStdio, std::uint64_t{1} << 44);
    EXPECT_GE(later_share(world, limit_of(path), seconds(12), seconds(24)), 0.8)
        << path.delay_ms << " -> " << delay_ms << " ms, loss " << path.loss;
  }
}

// A radio line holds back what comes close together: the smallest RTT is that of the first few packets, and no queue of ours
// is why the others are longer.
TEST(AutoFollowsTheLink, PathThatIsLongerForMuch) {
  const Path path{100, 50, 0.01};
  double share = 0;
  for (const int start : {0, 1}) {
    World world(world_of(path));
    world.at(milliseconds(150 + 20 * start), [&world] {
      world.each_link([](LinkSettings& link) {
        link.jitter = milliseconds(20);
        link.keeps_order = true;
      });
    });
    world.client.write(kStdio, std::uint64_t{1} << 44);
    share += later_share(world, limit_of(path), seconds(14), seconds(26)) / 2;
  }
  // 0.88 to 0.98, and 0.34 to 0.49 where that is a queue for good.
  EXPECT_GE(share, 0.8);
}

// Who has never seen a queue after a bad start believes what quiet rounds lose: no policer takes so much of them.
TEST(AutoFollowsTheLink, LossAfterABadStart) {
  for (const auto& [path, loss] :
       {std::pair{Path{100, 10, 0.1}, 0.3}, {Path{100, 25, 0.1}, 0.5}, {Path{100, 50, 0.05}, 0.3}}) {
    EXPECT_GE(share_after_loss(path, loss, seconds(2), seconds(20)), 0.8) << path.delay_ms << " ms, " << loss;
  }
}

// Losses that come many at a time are the path's own all the same, though they are most of what a short while loses.
TEST(AutoFillsTheLink, LongPathThatLosesManyAtATime) {
  for (const double loss : {0.15, 0.18}) {
    Path path{100, 150, loss};
    path.loss_burst = 20;
    EXPECT_GE(measure(path, seconds(15)).later, 0.6) << loss;
  }
}

// Of a policer's new rate after 30 s of another, or of another loss: what comes `patience` later, for 20 s.
double share_of_policer(double police_mbps, const std::function<void(LinkSettings&)>& change,
                        Duration patience) {
  Path path{50, 20};
  path.police_mbps = police_mbps;
  World world(world_of(path));
  world.client.send(kStdio, std::uint64_t{1} << 40);
  world.at(seconds(30), [&] { change(world.up(0).settings); });
  const Duration from = seconds(30) + patience;
  const LinkSettings& link = world.up(0).settings;
  const double share = later_share(world, World::limit(link), from, from + seconds(20));
  const double allowed = link.police_bps > 0 ? link.police_bps / link.rate_bps : 1;
  std::cout << "share of the policer's rate " << share / allowed << "\n";
  return share / allowed;
}

TEST(AutoFollowsTheLink, PolicerThatChanges) {
  EXPECT_GE(share_of_policer(
                10, [](LinkSettings& link) { link.police_bps = 40e6; }, seconds(5)),
            0.8);
  EXPECT_GE(share_of_policer(
                10, [](LinkSettings& link) { link.police_bps = 0; }, seconds(5)),
            0.8);
  EXPECT_GE(share_of_policer(
                40, [](LinkSettings& link) { link.police_bps = 5e6; }, seconds(3)),
            0.8);
  EXPECT_GE(share_of_policer(
                20, [](LinkSettings& link) { link.loss = 0.05; }, seconds(3)),
            0.8);
}

// A clean path that begins to lose is no policer, though what was sent quietly came through until then.
TEST(AutoFollowsTheLink, LossThatBegins) {
  for (const double mbps : {100.0, 20.0}) {
    const Path path{mbps, 10};
    World world(world_of(path));
    world.client.send(kStdio, std::uint64_t{1} << 40);
    world.at(seconds(5), [&] { world.up(0).settings.loss = 0.08; });
    EXPECT_GE(later_share(world, 0.92 * limit_of(path), seconds(10), seconds(25)), 0.85) << mbps;
  }
}

// After silence the rate is still known: nothing starts over.
TEST(AutoFollowsTheLink, GoesOnAfterSilence) {
  const Path path{100, 25};
  World world(world_of(path));
  const StreamId first = world.client.session().streams().open("first");
  world.client.send(first, 10'000'000);
  ASSERT_TRUE(world.run_until([&] { return world.server.ended(first); }, seconds(10)));
  world.run_until([] { return false; }, seconds(15));
  world.client.send(kStdio, 10'000'000);
  ASSERT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(30)));
  EXPECT_GE(10e6 / (world.seconds_passed() - 15) / limit_of(path), 0.9);
}

// What git and rsync do first: small words both ways, which say nothing of what the path can take. What follows them in
// bulk, 0.25 s of the link's time, starts as quickly as without them; a jitter of 1 ms looks like a queue for moments.
double seconds_of_bulk_after(double jitter_ms, std::uint64_t word, std::uint64_t answer,
                             double delay_ms = 10) {
  Path path{100, delay_ms};
  path.jitter_ms = jitter_ms;
  World world(world_of(path));
  const auto pass = [&](Duration time) {
    world.run_until([] { return false; }, world.now().time_since_epoch() + time);
  };
  world.server.write(kStdio, answer);
  for (int i = 0; i < 10; ++i) {
    world.client.write(kStdio, word);
    pass(milliseconds(50));
  }
  const Time begin = world.now();
  world.client.send(kStdio, 3'000'000);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(20)));
  EXPECT_TRUE(world.server.intact());
  return to_seconds(world.now() - begin);
}

// The first trains show the rate; without them five rounds would pass.
TEST(AutoFillsTheLink, BulkAfterSmallWordsOnALongPath) {
  EXPECT_LE(seconds_of_bulk_after(0, 3, 0, 50), 0.5);
  EXPECT_LE(seconds_of_bulk_after(0, 3, 0, 100), 0.8);
}

TEST(AutoFillsTheLink, BulkAfterSmallWords) {
  for (const std::uint64_t word : {3u, 3'000u, 30'000u}) {
    EXPECT_LE(seconds_of_bulk_after(0, word, 0), 0.6) << word;
    EXPECT_LE(seconds_of_bulk_after(0, word, 1'500'000), 0.6) << word;
    EXPECT_LE(seconds_of_bulk_after(1, word, 0), 0.8) << word;
  }
}

// What takes bulk sends credit and little else meanwhile: that is no start-up of its own.
TEST(AutoFillsTheLink, OneWayThenTheOther) {
  const Path path{300, 50, 0.001};
  const std::uint64_t size = 60'000'000;
  World world(world_of(path));
  world.client.write(kStdio, size);
  ASSERT_TRUE(world.run_until([&] { return world.server.received(kStdio) == size; }, seconds(20)));
  const Time begin = world.now();
  world.server.write(kStdio, size);
  ASSERT_TRUE(world.run_until([&] { return world.client.received(kStdio) == size; }, seconds(60)));
  EXPECT_GE(static_cast<double>(size) / to_seconds(world.now() - begin) / limit_of(path), 0.5);
}

// The peer's queue is in each RTT as well: it is neither ours, nor does it make the path a restless one.
void expect_both_ways(const Path& path, double down_mbps, double longest_queue) {
  WorldSettings settings = world_of(path);
  Path back = path;
  back.mbps = down_mbps;
  settings.down = link_of(back);
  World world(settings);
  for (Host* host : {&world.client, &world.server}) host->write(kStdio, std::uint64_t{1} << 44);
  constexpr int kSeconds = 25, kLooks = 1000;
  double up_queue = 0, down_queue = 0;  // s, the mean
  for (int look = 1; look <= kLooks; ++look) {
    world.run_until([] { return false; }, look * seconds(kSeconds) / kLooks);
    up_queue += to_seconds(world.up(0).backlog(world.now())) / kLooks;
    down_queue += to_seconds(world.down(0).backlog(world.now())) / kLooks;
  }
  const auto expect = [](const Link& link, std::uint64_t received, double queue, double longest) {
    EXPECT_GE(static_cast<double>(received) / kSeconds / World::limit(link.settings), 0.94);
    EXPECT_LE(queue, longest);
    EXPECT_LE(static_cast<double>(link.dropped) / static_cast<double>(link.offered), 0.015);
  };
  expect(world.up(0), world.server.received(kStdio), up_queue, longest_queue);
  expect(world.down(0), world.client.received(kStdio), down_queue, longest_queue);
}

TEST(AutoKeepsTheQueueShort, BothWaysAtOnce) {
  expect_both_ways({100, 25}, 100, 0.015);
  expect_both_ways({100, 25, 0, 4}, 100, 0.02);
  expect_both_ways({100, 25}, 10, 0.025);
  expect_both_ways({100, 5}, 100, 0.006);
}

// A told rate below the link's is kept, loss or not.
TEST(FixedKeepsItsRate, WithLoss) {
  const Path path{100, 25, 0.05};
  WorldSettings settings = world_of(path);
  settings.congestion = "fixed";
  settings.fixed_rate_bps = 20'000'000;
  World world(settings);
  world.client.send(kStdio, std::uint64_t{1} << 40);
  const double share = later_share(world, 20e6 / 8, seconds(2), seconds(6));
  EXPECT_GE(share, 0.95);
  EXPECT_LE(share, 1.05);
}

}  // namespace
}  // namespace mcdtp::sim
