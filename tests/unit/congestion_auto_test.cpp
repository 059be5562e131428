#include "common/core/congestion/congestion_auto.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "common/core/congestion/congestion_fixed.h"

namespace mcdtp {
namespace {

constexpr Duration kRtt = milliseconds(50);
constexpr Duration kInterval = milliseconds(12);

// A fluid link with a queue, in steps of one RTT: each step is one report of one round.
class Fluid {
 public:
  explicit Fluid(double rate, Duration rtt = kRtt) : rate_(rate), rtt_(rtt) {}

  void set_rate(double rate) { rate_ = rate; }
  void set_loss(double loss) { loss_ = loss; }
  void set_limited(bool limited) { limited_ = limited; }
  void set_host_delay(Duration delay) { host_delay_ = delay; }

  void rounds(CongestionAuto& model, int count) {
    for (int i = 0; i < count; ++i) round(model);
  }
  // When half of what the next round sends has gone.
  Time amid_next() const { return now_ + rtt_ / 2; }
  Time now() const { return now_; }
  double queue() const { return queue_; }
  double dropped() const { return dropped_; }

 private:
  void round(CongestionAuto& model) {
    const double seconds_in = to_seconds(rtt_);
    const bool quiet = model.quiet(amid_next());
    const double pace = limited_ ? std::min(model.pacing_rate(), rate_ / 20) : model.pacing_rate();
    const double sent = std::min(pace * seconds_in, static_cast<double>(model.window()));
    const double room = rate_ * seconds_in * 2;  // this round's work, and one product of queue
    const double over = std::max(0.0, queue_ + sent - room);
    const double taken = std::min(queue_ + sent - over, rate_ * seconds_in);
    queue_ += sent - over - taken;
    dropped_ += over;
    ReportSample sample;
    now_ += rtt_;
    sent_ += static_cast<std::uint64_t>(sent);
    sample.now = now_;
    sample.lost = static_cast<std::uint64_t>(over + taken * loss_);
    sample.covered = static_cast<std::uint64_t>(taken * (1 - loss_));
    if (quiet) sample.quiet_covered = sample.covered;
    if (quiet) sample.quiet_lost = sample.lost;
    sample.sent = sent_;
    sample.newest_covered = sent_ - static_cast<std::uint64_t>(queue_);
    sample.newest_sent_at = now_ - rtt_;
    sample.newest_arrived_at = now_;
    sample.rate = (taken + over) / seconds_in;
    sample.rate_loss = (over + taken * loss_) / (taken + over);
    sample.application_limited = limited_;
    sample.rtt = rtt_ + host_delay_ + from_seconds(queue_ / rate_);
    sample.smoothed_rtt = rtt_;
    sample.report_interval = kInterval;
    sample.in_flight = static_cast<std::uint64_t>(queue_ + taken);
    model.on_report(sample);
    sent_ += 1;
  }

  double rate_;
  Duration rtt_;
  double loss_ = 0;
  bool limited_ = false;
  Duration host_delay_{};
  double queue_ = 0;
  double dropped_ = 0;
  Time now_ = Time(seconds(1));
  std::uint64_t sent_ = 1;
};

// The mean pace over a whole cycle of probes.
double mean_pace(CongestionAuto& model, Fluid& link) {
  double sum = 0;
  for (int i = 0; i < 16; ++i) {
    link.rounds(model, 1);
    sum += model.pacing_rate();
  }
  return sum / 16;
}

TEST(CongestionAuto, FindsTheRateInLogarithmicTime) {
  CongestionAuto model;
  Fluid link(1e8);
  link.rounds(model, 20);
  EXPECT_NEAR(mean_pace(model, link), 1e8, 0.1e8);
  EXPECT_LE(link.queue(), 1e8 * to_seconds(kRtt) / 2);
}

TEST(CongestionAuto, RandomLossDoesNotSlowIt) {
  for (const double loss : {0.01, 0.05, 0.1, 0.15}) {
    CongestionAuto model;
    Fluid link(1e7);
    link.set_loss(loss);
    link.rounds(model, 60);
    EXPECT_NEAR(mean_pace(model, link), 1e7, 0.08e7) << loss;
    EXPECT_NEAR(model.path_loss(), loss, 0.01) << loss;
  }
}

// Fifteen rounds of a long path are long: while its loss is taken for congestion, each of them costs.
TEST(CongestionAuto, LossOfALongPathIsSoonKnownForItsOwn) {
  CongestionAuto model;
  Fluid link(1e5, milliseconds(600));
  link.rounds(model, 8);
  link.set_loss(0.1);
  int rounds = 0;
  for (; rounds < 60 && model.path_loss() < 0.05; ++rounds) link.rounds(model, 1);
  EXPECT_LE(rounds, 10);
}

TEST(CongestionAuto, LossThatItCausesIsNotThePathsOwn) {
  CongestionAuto model;
  Fluid link(1e7);
  link.rounds(model, 20);
  link.set_rate(5e6);
  link.rounds(model, 60);
  EXPECT_GT(link.dropped(), 0);
  EXPECT_LE(model.path_loss(), PathLoss::kMargin);
}

// Who is quiet meets the queue of before at first, and what is lost there is none of the path's own loss.
TEST(CongestionAuto, QuietPacketsAreThoseThatFindRoom) {
  CongestionAuto model;
  Fluid link(1e8);
  for (int i = 0; i < 100 && !model.quiet(link.amid_next()); ++i) link.rounds(model, 1);
  EXPECT_TRUE(model.quiet(link.amid_next()));
  EXPECT_FALSE(model.quiet(link.now()));
}

// A round below the rate, made to empty the queue, shows less than the path can do; hosts that are late look like a
// queue to it.
TEST(CongestionAuto, ItsOwnPauseIsNotThePathsRate) {
  CongestionAuto model;
  Fluid link(1e8);
  link.rounds(model, 20);
  link.set_host_delay(milliseconds(1));
  for (int cycle = 0; cycle < 4; ++cycle) {
    while (!model.quiet(link.amid_next())) link.rounds(model, 1);
    while (model.quiet(link.amid_next())) link.rounds(model, 1);
    for (int i = 0; i < 3; ++i) {
      link.rounds(model, 1);
      EXPECT_GE(model.pacing_rate(), 0.93e8) << cycle << " " << i;
    }
  }
}

TEST(CongestionAuto, FollowsTheLinkDownAndUp) {
  CongestionAuto model;
  Fluid link(1e8);
  link.rounds(model, 30);
  link.set_rate(1e7);
  // Well before ten rounds have pushed out what was true before.
  link.rounds(model, 7);
  EXPECT_LE(model.pacing_rate(), 2e7);
  link.rounds(model, 30);
  EXPECT_NEAR(mean_pace(model, link), 1e7, 0.15e7);
  link.set_rate(1e8);
  link.rounds(model, 30);
  EXPECT_NEAR(mean_pace(model, link), 1e8, 0.15e8);
}

constexpr Duration kShortRtt = milliseconds(12);

// Who gives way to it sends less, and less comes.
TEST(CongestionAuto, OnAShortPathWhatHostsAddForAWhileCostsNoRate) {
  CongestionAuto model;
  Fluid link(1e8, kShortRtt);
  link.rounds(model, 60);
  link.set_host_delay(milliseconds(3));
  link.rounds(model, 20);
  link.set_host_delay({});
  link.rounds(model, 2);
  EXPECT_GE(model.pacing_rate(), 0.95e8);
}

TEST(CongestionAuto, OnAShortPathAQueueThatStaysIsOne) {
  CongestionAuto model;
  Fluid link(1e8, kShortRtt);
  link.rounds(model, 60);
  link.set_rate(0.5e8);
  link.rounds(model, 60);
  EXPECT_LE(mean_pace(model, link), 0.55e8);
}

TEST(CongestionAuto, WhatTheApplicationDoesNotSendIsNotThePathsLimit) {
  CongestionAuto model;
  Fluid link(1e7);
  link.rounds(model, 30);
  link.set_limited(true);
  link.rounds(model, 100);
  EXPECT_GE(model.pacing_rate(), 0.65e7);
  EXPECT_LE(model.pacing_rate(), 1.3e7);
}

TEST(CongestionAuto, TheWindowCoversTheWaitForAReport) {
  CongestionAuto model;
  Fluid link(1e7);
  link.rounds(model, 40);
  EXPECT_GE(static_cast<double>(model.window()), 1.5 * 1e7 * to_seconds(kRtt + kInterval));
  EXPECT_LE(static_cast<double>(model.window()), 2.5 * 1e7 * to_seconds(kRtt + kInterval));
}

TEST(CongestionAuto, SilenceHalvesTheRate) {
  CongestionAuto model;
  Fluid link(1e7);
  link.rounds(model, 40);
  const double before = model.pacing_rate();
  model.on_silence(Time(seconds(100)));
  EXPECT_NEAR(model.pacing_rate(), before / 2, 1);
}

// Even where the rate samples themselves show no loss.
TEST(CongestionAuto, TheBreakerTripsWhereMuchIsLost) {
  CongestionAuto model;
  Fluid link(1e7);
  link.rounds(model, 40);
  ReportSample sample;
  sample.covered = 60000;
  sample.lost = 40000;
  sample.rate = 1e7;
  sample.rtt = kRtt;
  sample.now = Time(seconds(100));
  sample.sent = sample.newest_covered = 1'000'000'000;
  for (int i = 0; i < 3; ++i) {
    sample.now += kRtt;
    sample.newest_sent_at = sample.now - kRtt;
    sample.newest_arrived_at = sample.now;
    sample.newest_covered = sample.sent += 1'000'000;
    model.on_report(sample);
  }
  EXPECT_LE(model.pacing_rate(), 0.65e7);
}

TEST(CongestionAuto, TheSmallestRttIsForgottenInTime) {
  CongestionAuto model;
  ReportSample sample;
  sample.now = Time(seconds(1));
  sample.covered = 1200;
  sample.rtt = milliseconds(10);
  model.on_report(sample);
  EXPECT_EQ(model.min_rtt(), milliseconds(10));
  for (int i = 0; i < 40; ++i) {
    sample.now += seconds(1);
    sample.rtt = milliseconds(80);
    model.on_report(sample);
  }
  EXPECT_EQ(model.min_rtt(), milliseconds(80));
}

// ---- whatever the reports say ----

ReportSample random_sample(std::mt19937_64& random, Time now, std::uint64_t& sent) {
  const auto bytes = [&](int bits) {
    return random() >> (64 - std::uniform_int_distribution<>(1, bits)(random));
  };
  const auto share = [&] { return std::uniform_real_distribution<>(0, 1)(random); };
  const auto often = [&](double p) { return share() < p; };
  ReportSample sample;
  sample.now = now;
  sample.covered = often(0.8) ? bytes(24) : 0;
  sample.lost = often(0.4) ? bytes(24) : 0;
  sample.found = often(0.2) ? bytes(24) : 0;
  sample.quiet_covered = often(0.5) ? sample.covered : 0;
  sample.quiet_lost = often(0.5) ? sample.lost : 0;
  sample.quiet_found = often(0.5) ? sample.found : 0;
  sample.in_flight = bytes(30);
  sample.sent = sent += bytes(24);
  sample.newest_covered = often(0.7) ? sent - bytes(20) % sent : 0;
  sample.rate = often(0.8) ? std::pow(10, 14 * share()) : 0;
  sample.rate_loss = often(0.5) ? share() : std::round(share());
  sample.application_limited = often(0.3);
  if (often(0.8)) sample.rtt = Duration(static_cast<std::int64_t>(bytes(36)) + 1);
  sample.smoothed_rtt = Duration(static_cast<std::int64_t>(bytes(36)) + 1);
  sample.report_interval = milliseconds(std::uniform_int_distribution<>(1, 50)(random));
  return sample;
}

void feed_anything(CongestionController& controller, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Time now = Time(seconds(1));
  std::uint64_t sent = 1;
  for (int i = 0; i < 2000; ++i) {
    now += Duration(static_cast<std::int64_t>(random() >> std::uniform_int_distribution<>(30, 63)(random)));
    if (random() % 100 == 0) {
      controller.on_silence(now);
    } else {
      controller.on_report(random_sample(random, now, sent));
    }
    ASSERT_TRUE(std::isfinite(controller.pacing_rate())) << "seed " << seed;
    ASSERT_GT(controller.pacing_rate(), 0) << "seed " << seed;
    ASSERT_LE(controller.pacing_rate(), 1e12) << "seed " << seed;
    ASSERT_GE(controller.window(), kMinWindow) << "seed " << seed;
    ASSERT_LE(controller.window(), std::uint64_t{1} << 50) << "seed " << seed;
  }
}

TEST(CongestionOperations, AutoStaysWithinBounds) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CongestionAuto model;
    feed_anything(model, seed);
  }
}

TEST(CongestionOperations, FixedStaysWithinBounds) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CongestionFixed fixed(1'000'000'000);
    feed_anything(fixed, seed);
  }
}

}  // namespace
}  // namespace mcdtp
