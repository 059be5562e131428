#include "common/core/link_trial.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr Duration kRtt = milliseconds(40);

// A network: what arrives by UDP and by the connection in a second, and how long a record takes there.
struct Network {
  double udp = 1e6;
  double link = 10e6;
  Duration record = kRtt;
  bool busy = true;

  // True at the end: it carries.
  bool pass(Duration time) {
    for (const Time end = now + time; now < end;) {
      now += milliseconds(10);
      trial.on_datagrams(now, static_cast<std::uint64_t>(udp / 100), busy, kRtt);
      ever_tried = ever_tried || trial.tries();
      if (trial.carries()) trial.on_link(static_cast<std::uint64_t>(arrives() / 100), record);
    }
    return trial.carries();
  }
  // No more than the trial's window in a round trip.
  double arrives() const {
    return trial.tries() ? std::min(link, static_cast<double>(trial.window()) / to_seconds(kRtt)) : link;
  }

  LinkTrial trial;
  Time now = Time{} + seconds(100);
  bool ever_tried = false;
};

constexpr Duration kSome = LinkTrial::kFirstWait + seconds(2);

TEST(LinkTrial, HelpsWhereMuchMoreArrives) {
  Network network;
  EXPECT_FALSE(network.pass(LinkTrial::kFirstWait - milliseconds(50)));
  EXPECT_FALSE(network.ever_tried);
  EXPECT_TRUE(network.pass(seconds(2)));
  EXPECT_FALSE(network.trial.tries()) << "it is decided";
}

TEST(LinkTrial, DoesNotHelpWhereLittleMoreArrives) {
  Network network;
  network.link = 0.4e6;
  EXPECT_FALSE(network.pass(kSome));
  EXPECT_TRUE(network.ever_tried);
}

TEST(LinkTrial, AQueueEndsItAtOnceAndTheNextComesLater) {
  Network network;
  network.record = kRtt + milliseconds(10);
  network.pass(LinkTrial::kFirstWait + milliseconds(50));
  EXPECT_TRUE(network.ever_tried);
  EXPECT_FALSE(network.trial.carries());
  network.ever_tried = false;
  network.record = kRtt;
  EXPECT_FALSE(network.pass(2 * LinkTrial::kFirstWait - milliseconds(100)));
  EXPECT_FALSE(network.ever_tried);
  EXPECT_TRUE(network.pass(seconds(2)));
}

TEST(LinkTrial, ARecordThatIsLateEndsIt) {
  Network network;
  while (!network.trial.tries()) network.pass(milliseconds(10));
  network.trial.on_waiting(kRtt);
  EXPECT_TRUE(network.trial.tries());
  network.trial.on_waiting(4 * kRtt);
  EXPECT_FALSE(network.trial.carries());
}

// At a low rate the least that may go takes no longer than it has to.
TEST(LinkTrial, TriesALittleAtFirst) {
  for (const double udp : {1e4, 1e5, 1e8}) {
    Network network;
    network.udp = udp;
    while (!network.trial.tries()) network.pass(milliseconds(10));
    const double most = std::max(udp * LinkTrial::kRecordTime * 1.01, 1. * LinkTrial::kLeastRecord);
    EXPECT_LE(network.trial.window(), std::min(most, 1. * LinkTrial::kMostRecord));
    EXPECT_EQ(network.trial.record(), network.trial.window());
  }
}

TEST(LinkTrial, PausesNowAndThenAndGoesOn) {
  Network network;
  network.pass(kSome);
  ASSERT_TRUE(network.trial.carries());
  int pauses = 0;
  for (int second = 0; second < 100; ++second) pauses += network.pass(seconds(1)) ? 0 : 1;
  EXPECT_GE(pauses, 3);
  EXPECT_LE(pauses, 10);
}

TEST(LinkTrial, EndsWhereUdpDoesWithout) {
  Network network;
  network.pass(kSome);
  ASSERT_TRUE(network.trial.carries());
  network.udp = 10e6;
  network.link = 1e6;
  EXPECT_FALSE(network.pass(LinkTrial::kHelp + seconds(5)));
}

TEST(LinkTrial, NothingIsTriedWhereNothingWaits) {
  Network network;
  network.busy = false;
  EXPECT_FALSE(network.pass(seconds(60)));
  EXPECT_FALSE(network.ever_tried);
}

TEST(LinkTrial, HelpOutlastsAMomentInWhichNothingWaits) {
  Network network;
  network.pass(kSome);
  ASSERT_TRUE(network.trial.carries());
  network.busy = false;
  EXPECT_TRUE(network.pass(seconds(100)));
  network.trial.forget();
  EXPECT_FALSE(network.trial.carries());
}

TEST(LinkTrial, NothingThatArrivesIsNoMeasure) {
  Network network;
  network.udp = 0;
  EXPECT_FALSE(network.pass(seconds(60)));
  EXPECT_FALSE(network.ever_tried);
}

}  // namespace
}  // namespace mcdtp
