#include <gtest/gtest.h>

#include <numeric>

#include "tests/sim/measure.h"

// How `auto` shares a link with its like and with TCP CUBIC (our own `cubic`), in virtual time.
namespace mcdtp::sim {
namespace {

constexpr Duration kFrom = seconds(10);
constexpr Duration kUntil = seconds(40);

Path link(double queue, double loss = 0) { return {10, 25, loss, queue}; }

TEST(AutoSharesTheLink, TwoThatBeginTogether) {
  const Shares shares = share_link(link(1), {{}, {}}, kFrom, kUntil);
  EXPECT_GE(shares.fairness(), 0.9);
  EXPECT_GE(shares.of[0] + shares.of[1], 0.9);
}

std::vector<Rival> ten(int gap_ms) {
  std::vector<Rival> rivals;
  for (int i = 0; i < 10; ++i) rivals.push_back({"auto", 0, milliseconds(i * gap_ms)});
  return rivals;
}

double fairness_of_ten(double delay_ms) {
  return share_link({10, delay_ms}, ten(0), seconds(5), seconds(20)).fairness();
}

// All know the empty path by their first channel only: the others' first packets meet the queue of the rest. One alone says
// little, for chance decides who is first: the mean of ten, too.
TEST(AutoSharesTheLink, TenThatBeginTogether) {
  for (const int delay_ms : {5, 25}) EXPECT_GE(fairness_of_ten(delay_ms), 0.9) << delay_ms;
  double fairness = 0;
  for (int delay_ms = 15; delay_ms < 25; ++delay_ms) {
    const double one = fairness_of_ten(delay_ms);
    EXPECT_GE(one, 0.7) << delay_ms;
    fairness += one / 10;
  }
  EXPECT_GE(fairness, 0.9);
}

// Some losses of that start look like the path's own, for the queue is short by then.
TEST(AutoSharesTheLink, NoneOfTenTakesTheLossOfTheirStartForThePathsForLong) {
  for (const int delay_ms : {32, 34}) EXPECT_GE(fairness_of_ten(delay_ms), 0.7) << delay_ms;
}

// Who comes later finds the queue of the others, takes its RTT for the path's, and its loss for the path's own: until all
// stop for a moment. The mean of two.
TEST(AutoSharesTheLink, TenThatComeOneAfterTheOther) {
  double fairness = 0;
  for (const int gap : {200, 500})
    fairness += share_link(link(1), ten(gap), seconds(14), seconds(29)).fairness() / 2;
  EXPECT_GE(fairness, 0.85);
}

// A short buffer that ten keep full has always the same RTT: nothing tells it from that of a path that loses packets.
TEST(AutoSharesTheLink, TenThatComeToABufferThatIsAlwaysFull) {
  for (const int gap : {15, 21})
    EXPECT_GE(share_link({10, 5}, ten(gap), seconds(5), seconds(20)).fairness(), 0.85) << gap;
}

TEST(AutoSharesTheLink, FiveThatComeToFiveOfCubic) {
  std::vector<Rival> rivals;
  for (int i = 0; i < 5; ++i) {
    rivals.push_back({"cubic", 0, milliseconds(i * 20)});
    rivals.push_back({"auto", 0, milliseconds(3000 + i * 20)});
  }
  const Shares shares = share_link(link(1), rivals, seconds(12), seconds(27));
  double cubic = 0;
  for (std::size_t i = 0; i < rivals.size(); i += 2) cubic += shares.of[i];
  EXPECT_GE(cubic, 0.35);
  EXPECT_GE(shares.fairness(), 0.8);
}

// The mean of eight: one alone says little, for nothing is random here, and a start some tenths of a second earlier
// brings anything from 0.7 to 1.
void expect_fair_to_one_that_comes_later(const Path& path, double least = 0.9) {
  double fairness = 0;
  for (int i = 0; i < 8; ++i) {
    const Duration begins = milliseconds(4000 + 400 * i);
    const Shares shares = share_link(path, {{}, {"auto", 0, begins}}, kFrom, kUntil);
    fairness += shares.fairness() / 8;
    EXPECT_GE(shares.of[0] + shares.of[1], 0.9);
  }
  EXPECT_GE(fairness, least);
}

TEST(AutoSharesTheLink, OneThatComesLater) { expect_fair_to_one_that_comes_later(link(1)); }

// The queue that either could wish for is about as long as the RTT.
TEST(AutoSharesTheLink, OneThatComesLaterToAShortPath) {
  expect_fair_to_one_that_comes_later({10, 10});
  expect_fair_to_one_that_comes_later({20, 5});
}

// Each step takes long there, who has little adds little to the queue, and beside the RTT what either wishes for differs
// little.
TEST(AutoSharesTheLink, OneThatComesLaterToALongPath) {
  expect_fair_to_one_that_comes_later({30, 50});
  expect_fair_to_one_that_comes_later({50, 150}, 0.9);
  expect_fair_to_one_that_comes_later({100, 150}, 0.9);
}

TEST(AutoSharesTheLink, WithLoss) {
  const Shares shares = share_link({20, 25, 0.02}, {{}, {"auto", 0, seconds(3)}}, kFrom, kUntil);
  EXPECT_GE(shares.fairness(), 0.9);
  EXPECT_GE(shares.of[0] + shares.of[1], 0.9);
}

// RTTs of 10 and 50 ms.
TEST(AutoSharesTheLink, ShortAndLongRtt) {
  const Shares shares = share_link({10, 5}, {{}, {"auto", 20, {}}}, kFrom, kUntil);
  EXPECT_GE(shares.fairness(), 0.7);
  EXPECT_GE(shares.of[0] + shares.of[1], 0.9);
}

// TCP keeps a quarter; and it does not drive us out.
TEST(AutoSharesTheLink, BesideCubic) {
  const Shares shares = share_link(link(1), {{}, {"cubic", 0, seconds(3)}}, kFrom, seconds(60));
  EXPECT_GE(shares.of[0], 0.15);
  EXPECT_GE(shares.of[1], 0.25);
  EXPECT_GE(shares.of[0] + shares.of[1], 0.9);
}

// The queue that we could wish for would leave little room for what TCP sends at once.
TEST(AutoSharesTheLink, BesideCubicWhereTheBufferIsShort) {
  for (const Path& path : {Path{100, 2}, Path{300, 1}}) {
    const Shares shares = share_link(path, {{}, {"cubic", 0, seconds(1)}}, seconds(6), seconds(16));
    EXPECT_GE(shares.of[0], 0.25) << path.mbps << " Mbit/s, " << path.delay_ms << " ms";
    EXPECT_GE(shares.of[1], 0.25) << path.mbps << " Mbit/s, " << path.delay_ms << " ms";
    EXPECT_GE(shares.of[0] + shares.of[1], 0.9) << path.mbps << " Mbit/s, " << path.delay_ms << " ms";
  }
}

// One may know that the buffer overflows, and the other not: that depends on when it comes. The mean of four starts.
TEST(AutoSharesTheLink, BesideAnotherWhereTheBufferIsShort) {
  double fairness = 0;
  for (const int start : {6400, 6800, 7000, 7400}) {
    const Duration begins = milliseconds(start);
    fairness += share_link({100, 2}, {{}, {"auto", 0, begins}}, begins + seconds(5), begins + seconds(15))
                    .fairness() /
                4;
  }
  EXPECT_GE(fairness, 0.88);
}

// What was given away before the others were known to be TCP is asked for again. Where all stand still for a moment, the
// queue empties, and TCP seems to have gone. The mean of four starts.
TEST(AutoSharesTheLink, BesideCubicInADeepQueue) {
  for (const double delay_ms : {25.0, 50.0}) {
    for (const double stall_ms : {0.0, 150.0}) {
      Path path{20, delay_ms, 0, 4};
      path.stall_ms = stall_ms;
      double ours = 0;
      for (const int start : {0, 1, 2, 3}) {
        const Shares shares =
            share_link(path, {{"auto", 0, seconds(start)}, {"cubic", 0, seconds(3)}}, kFrom, seconds(30));
        ours += shares.of[0] / 4;
        EXPECT_GE(shares.of[1], 0.38);
      }
      EXPECT_GE(ours, stall_ms > 0 ? 0.28 : 0.38) << delay_ms << " ms";
    }
  }
}

// Who comes late has a few hundredths of the link, and for that little the queue that TCP keeps is none too long: that
// it does not fall when less is sent is what tells of others.
TEST(AutoSharesTheLink, OneThatComesAfterCubic) {
  double ours = 0;
  for (const int start : {1, 3}) {
    const Shares shares =
        share_link({30, 25}, {{"auto", 0, seconds(start)}, {"cubic"}}, seconds(5), seconds(30));
    ours += shares.of[0] / 2;
    EXPECT_GE(shares.of[1], 0.25);
  }
  EXPECT_GE(ours, 0.21);
}

// Who comes to a queue that others keep full has never seen it empty: its smallest RTT is that of a full queue, and what
// is lost there could be the path's own.
TEST(AutoSharesTheLink, FiveComeToAQueueThatFiveKeepFull) {
  std::vector<Rival> rivals;
  for (int i = 0; i < 5; ++i) rivals.push_back({"cubic", 0, milliseconds(100 * i)});
  for (int i = 0; i < 5; ++i) rivals.push_back({"auto", 0, milliseconds(700 + 50 * i)});
  const Shares shares = share_link(link(1), rivals, kFrom, kUntil);
  EXPECT_GE(shares.fairness(), 0.9);
  EXPECT_GE(std::accumulate(shares.of.begin(), shares.of.begin() + 5, 0.0), 0.4);
}

// When TCP has gone, its share is ours, and the queue is short again.
TEST(AutoSharesTheLink, AloneAgain) {
  const Path path = link(1);
  WorldSettings settings = world_of(path);
  settings.shared_up = std::make_shared<Link>(settings.up, scenario_seed());
  settings.shared_down = std::make_shared<Link>(settings.down, scenario_seed() + 1000);
  World ours(settings);
  settings.congestion = "cubic";
  World tcp(settings);
  ours.client.write(kStdio, std::uint64_t{1} << 40);
  tcp.client.write(kStdio, std::uint64_t{1} << 40);
  tcp.at(seconds(20), [&] { tcp.client.finish_early(kStdio); });
  run_together({&ours, &tcp}, seconds(30));
  const std::uint64_t before = ours.server.received(kStdio);
  run_together({&ours, &tcp}, seconds(40));
  const auto got = static_cast<double>(ours.server.received(kStdio) - before);
  EXPECT_GE(got / 10 / limit_of(path), 0.9);
  double waiting = 0;
  for (int i = 1; i <= 200; ++i) {
    run_together({&ours, &tcp}, seconds(40) + i * milliseconds(100));
    waiting += to_seconds(ours.up(0).backlog(ours.now())) / 200;
  }
  EXPECT_LE(waiting, 0.025);
}

// A queue of four products is there to be filled: what waits in it is less than an RTT.
TEST(AutoKeepsTheQueueShort, WhereTheBufferIsDeep) {
  for (const double mbps : {10.0, 50.0}) {
    const Measured measured = measure({mbps, 25, 0, 4}, seconds(20));
    EXPECT_LE(measured.queue, 0.25) << mbps;
    EXPECT_GE(measured.later, 0.95) << mbps;
    EXPECT_TRUE(measured.intact);
  }
}

TEST(AutoKeepsTheQueueShort, UnderHalfOfOneProduct) {
  for (const Path& path : {Path{20, 25}, Path{300, 1}, Path{100, 5, 0.01}}) {
    const Measured measured = measure(path, seconds(20));
    EXPECT_LE(measured.queue, 0.5) << path.mbps << " Mbit/s, " << path.delay_ms << " ms";
    EXPECT_GE(measured.later, 0.95) << path.mbps << " Mbit/s, " << path.delay_ms << " ms";
  }
}

}  // namespace
}  // namespace mcdtp::sim
