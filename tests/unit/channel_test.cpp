#include "common/core/channel.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

using namespace std::chrono_literals;

Time at(Duration passed) { return Time{} + passed; }

void send(Channel& channel, Time now, PathId path, bool asks) {
  SentPacket packet;
  packet.sent_at = now;
  packet.size = 100;
  packet.path = path;
  packet.state = asks ? SentPacket::State::kOutstanding : SentPacket::State::kSilent;
  channel.on_sent(now, asks);
  channel.sent.add(std::move(packet));
}

SentPacket probe_of(PathId path) {
  SentPacket probe;
  probe.size = PathMtu::kBase;
  probe.path = path;
  return probe;
}

TEST(Channel, ProbesEverMoreSlowlyUntilProved) {
  Channel channel(0, true);
  channel.paths.set_candidates({4, 5});
  channel.probe_soon(at(0s));
  std::vector<Duration> waits;
  for (int i = 0; i < 10; ++i) {
    const Time now = channel.next_timeout();
    channel.on_timeout(now);
    EXPECT_EQ(channel.take_probe(), 4u);
    EXPECT_EQ(channel.take_probe(), 5u);
    EXPECT_FALSE(channel.take_probe());
    waits.push_back(channel.next_timeout() - now);
  }
  EXPECT_EQ(waits.front(), Channel::kFirstProbeInterval);
  EXPECT_EQ(waits[1], 2 * Channel::kFirstProbeInterval);
  EXPECT_EQ(waits.back(), Channel::kMaxProbeInterval);
  const SentPacket probe = probe_of(5);
  EXPECT_TRUE(channel.on_covered(at(0s), probe));
  EXPECT_TRUE(channel.proved());
  EXPECT_FALSE(channel.on_covered(at(0s), probe));
}

// Reports that nothing ever answers stand behind probes that nothing ever answers: neither may stay for ever.
TEST(Channel, WhatNothingAnswersIsForgotten) {
  Channel channel(0, true);
  channel.paths.set_candidates({4});
  channel.probe_soon(at(0s));
  std::uint64_t most = 0;
  for (Duration passed = 0s; passed < 600s; passed += 100ms) {
    const Time now = at(passed);
    if (channel.next_timeout() <= now) channel.on_timeout(now);
    while (const auto path = channel.take_probe()) send(channel, now, *path, true);
    send(channel, now, 4, false);
    channel.sent.forget(now - 2 * channel.loss.rtt().smoothed());
    most = std::max<std::uint64_t>(most, channel.sent.packets().size());
  }
  EXPECT_LT(most, 500u);
}

// A peer that stands still now and then is not asked each time whether it is there.
TEST(Channel, TheProbeTimeOutAllowsForAHostThatStandsStill) {
  Channel channel(0, true);
  const SentPacket probe = probe_of(4);
  channel.paths.set_candidates({4});
  channel.on_covered(at(0s), probe);
  channel.on_covered_span(at(0s), channel.report_interval());
  send(channel, at(0s), 4, true);
  const Time usual = channel.next_timeout();
  channel.on_covered_span(at(1s), 80ms);
  EXPECT_EQ(channel.next_timeout(), usual + 80ms - channel.report_interval());
  channel.on_covered_span(at(2s), 1h);
  EXPECT_EQ(channel.next_timeout(), usual + 500ms);
  channel.on_sent(at(9s), true);
  EXPECT_EQ(channel.next_timeout(), usual + 500ms);
  channel.on_sent(at(20s), true);
  EXPECT_EQ(channel.next_timeout(), usual);
}

// A socket that takes nothing for a moment is no peer that does not answer.
TEST(Channel, AProbeTimeOutWaitsForThePingOfTheOneBeforeToLeave) {
  Channel channel(0, true);
  const SentPacket probe = probe_of(4);
  channel.paths.set_candidates({4});
  channel.on_covered(at(0s), probe);
  send(channel, at(0s), 4, true);
  send(channel, at(0s), 4, true);
  ReportNews news;
  ASSERT_TRUE(
      channel.loss.on_report(at(10ms), at(10ms), {0, 1, {}, 0, 0, 0, 0, {{0, 1}}}, channel.sent, news));
  const Time first = channel.next_timeout();
  ASSERT_LT(first, at(200ms));
  EXPECT_TRUE(channel.on_timeout(first));
  for (Duration later = 10ms; later < 1s; later += 10ms)
    EXPECT_FALSE(channel.on_timeout(first + later)) << to_seconds(later);
  EXPECT_EQ(channel.next_timeout(), first + 1s);
  EXPECT_TRUE(channel.on_timeout(first + 1s));
  EXPECT_EQ(channel.loss.probes_unanswered(), 2);
}

TEST(Channel, KeepaliveWhenIdle) {
  Channel channel(0, true);
  channel.paths.set_candidates({4});
  const SentPacket probe = probe_of(4);
  channel.on_covered(at(0s), probe);
  channel.on_sent(at(1s), true);
  // A report asks for none, and shows nothing.
  channel.on_sent(at(2s), false);
  EXPECT_EQ(channel.next_timeout(), at(1s + Channel::kKeepalive));
  EXPECT_FALSE(channel.on_timeout(at(10s)));
  EXPECT_FALSE(channel.ping_due());
  EXPECT_FALSE(channel.on_timeout(at(16s)));
  EXPECT_TRUE(channel.ping_due());
  EXPECT_EQ(channel.next_timeout(), kNever);
  send(channel, at(16s), 4, true);
  EXPECT_FALSE(channel.ping_due());
}

TEST(Channel, ProbeTimeoutsThenDoubt) {
  Channel channel(0, true);
  channel.paths.set_candidates({4});
  const SentPacket probe = probe_of(4);
  channel.on_covered(at(0s), probe);
  send(channel, at(0s), 4, true);
  for (int i = 1; i <= Channel::kDoubtAfterProbes; ++i) {
    EXPECT_EQ(channel.steady(), i == 1);
    const Time now = channel.next_timeout();
    ASSERT_TRUE(channel.on_timeout(now));
    EXPECT_EQ(channel.loss.probes_unanswered(), i);
    send(channel, now, 4, true);
  }
  channel.doubt(at(10s));
  EXPECT_FALSE(channel.proved());
  EXPECT_EQ(channel.next_timeout(), at(10s));
  // A report of any packet of full size sent there brings it back.
  SentPacket small = probe_of(4);
  small.size = PathMtu::kBase - 1;
  EXPECT_FALSE(channel.on_covered(at(0s), small));
  EXPECT_TRUE(channel.on_covered(at(0s), probe));
}

// A stopped relay's kernel takes what comes, and answers.
TEST(Channel, ALinkThatReportsNothingForLongIsSilent) {
  Channel link(kFirstTcpChannel, false);
  link.on_covered(at(0s), SentPacket{});
  EXPECT_EQ(link.silence_timer(at(0s)), kNever) << "nothing is outstanding";
  send(link, at(1s), 0, true);
  EXPECT_EQ(link.silence_timer(at(1s)), at(1s + Channel::kLinkPatience));
  link.on_silence();
  EXPECT_TRUE(link.is_silent());
  EXPECT_EQ(link.silence_timer(at(1s)), kNever);
  link.on_answer();
  EXPECT_FALSE(link.is_silent());
}

TEST(Channel, TheSshChannelAmongOthersIsSilentOnlyWhereTheseAreHeardOf) {
  Channel ssh(kSshChannel, false);
  ssh.on_covered(at(0s), SentPacket{});
  send(ssh, at(1s), 0, true);
  EXPECT_EQ(ssh.silence_timer(at(20s)), kNever) << "it is the only one";
  ssh.go_among_ssh();
  EXPECT_EQ(ssh.silence_timer(at(1s)), kNever);
  EXPECT_EQ(ssh.silence_timer(at(20s)), at(1s) + 4 * RttEstimator::kInitialRtt);
}

// Four round trips are more than a second until one was seen.
TEST(Channel, ALinkIsSilentSoonerWhereOthersAreHeardOf) {
  Channel link(kFirstTcpChannel, false);
  link.on_covered(at(0s), SentPacket{});
  send(link, at(1s), 0, true);
  const Duration soon = 4 * RttEstimator::kInitialRtt;
  EXPECT_EQ(link.silence_timer(at(1s) + soon / 2), at(1s + Channel::kLinkPatience)) << "it may come yet";
  EXPECT_EQ(link.silence_timer(at(1s) + soon / 2 + 1ns), at(1s) + soon);
}

TEST(Channel, StreamChannelsHaveNoTimersAndProveThemselvesOnce) {
  Channel channel(kSshChannel, false);
  send(channel, at(0s), 0, true);
  EXPECT_EQ(channel.next_timeout(), kNever);
  EXPECT_FALSE(channel.proved());
  EXPECT_TRUE(channel.on_covered(at(0s), SentPacket{}));
  EXPECT_FALSE(channel.on_covered(at(0s), SentPacket{}));
  EXPECT_EQ(channel.stream_window(milliseconds(100)), Channel::kMinStreamWindow);
}

TEST(Channel, ReportIntervalIsAQuarterOfTheRttInBounds) {
  const auto interval_at = [](Duration rtt) {
    Channel channel(0, true);
    send(channel, at(0s), 0, true);
    ReportNews news;
    EXPECT_TRUE(
        channel.loss.on_report(at(rtt), at(rtt), {0, 1, {}, 0, 0, 0, 0, {{0, 1}}}, channel.sent, news));
    return channel.report_interval();
  };
  EXPECT_EQ(interval_at(100us), Receipts::kMinInterval);
  EXPECT_EQ(interval_at(40ms), 10ms);
  EXPECT_EQ(interval_at(2s), Receipts::kMaxInterval);
}

}  // namespace
}  // namespace mcdtp
