#include "common/core/way_back.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

using std::chrono::duration_cast;

constexpr Duration kClocks = microseconds(1500);  // clocks run unlike by so much

// A peer whose clock shows another time, and runs faster by a share.
struct Peer {
  Duration ahead{};
  double faster = 0;
  std::uint64_t clock(Time now) const {
    return clock_of_report(now + ahead + from_seconds(faster * to_seconds(now.time_since_epoch())));
  }
};

// Reports each 10 ms until then, of packets that have just come, whose way back takes so long.
void report_until(WayBack& way_back, const Peer& peer, Time& now, Time until, Duration back) {
  for (; now < until; now += milliseconds(10)) way_back.on_report(now + back, now + back, peer.clock(now));
}

TEST(WayBack, NothingIsKnownAtFirst) { EXPECT_EQ(WayBack().excess(), Duration{}); }

TEST(WayBack, IsLongerByWhatWaits) {
  for (const Duration ahead : {Duration{}, Duration(seconds(123)), Duration(-milliseconds(5))}) {
    WayBack way_back;
    const Peer peer{ahead};
    Time now = Time{} + seconds(200);
    report_until(way_back, peer, now, now + seconds(1), milliseconds(25));
    EXPECT_EQ(way_back.excess(), Duration{});
    report_until(way_back, peer, now, now + seconds(1), milliseconds(65));
    EXPECT_EQ(way_back.excess(), milliseconds(40) - kClocks);
    report_until(way_back, peer, now, now + seconds(1), milliseconds(26));
    EXPECT_EQ(way_back.excess(), Duration{}) << "clocks";
  }
}

TEST(WayBack, WhereAClockBeginsAgain) {
  for (const Duration ahead : {Duration{}, Duration(milliseconds(500))}) {
    WayBack way_back;
    const Peer peer{ahead};
    Time now = Time{} + microseconds(kReportClock) - seconds(1);
    report_until(way_back, peer, now, now + seconds(2), milliseconds(25));
    EXPECT_EQ(way_back.excess(), Duration{});
    report_until(way_back, peer, now, now + seconds(1), milliseconds(65));
    EXPECT_EQ(way_back.excess(), milliseconds(40) - kClocks);
  }
}

TEST(WayBack, ClocksThatRunUnlike) {
  for (const double faster : {50e-6, -50e-6}) {
    WayBack way_back;
    const Peer peer{seconds(7), faster};
    for (Time now = Time{} + seconds(100); now < Time{} + seconds(1000);) {
      report_until(way_back, peer, now, now + seconds(1), milliseconds(25));
      EXPECT_LE(way_back.excess(), microseconds(1));
    }
  }
}

TEST(WayBack, ALongerOneIsTheUsualOneInTime) {
  WayBack way_back;
  Time now = Time{} + seconds(200);
  report_until(way_back, {}, now, now + seconds(1), milliseconds(25));
  report_until(way_back, {}, now, now + seconds(31), milliseconds(65));
  EXPECT_EQ(way_back.excess(), Duration{});
}

}  // namespace
}  // namespace mcdtp
