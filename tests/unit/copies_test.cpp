#include "common/core/copies.h"

#include <gtest/gtest.h>

#include "common/core/congestion/congestion.h"

namespace mcdtp {
namespace {

using namespace std::chrono_literals;

Time at(Duration time) { return Time(time); }

// Channels that have proved themselves, each with an RTT of its own.
class CopiesTest : public testing::Test {
 protected:
  void add_channel(ChannelId id, Duration rtt) {
    Channel& channel = channels_.try_emplace(id, id, true).first->second;
    channel.flow = flow_;
    channel.paths.set_candidates({0});
    SentPacket probe;
    probe.state = SentPacket::State::kSilent;
    channel.sent.add(std::move(probe));
    channel.paths.on_covered(0, true);
    channel.capacity.on_report({at(0ms), 1200, 1200, rtt, 5ms});
  }
  void send(ChannelId id, Duration when, std::uint32_t size = 1200) {
    SentPacket packet;
    packet.sent_at = at(when);
    packet.size = size;
    packet.cargo.add(DataRef{kStdio, 0, 100});
    channels_.at(id).sent.add(std::move(packet));
    copies_.on_sent(size);
  }
  // The channel and number of the packet that `helper` is to copy; "none".
  std::string next(Duration when, ChannelId helper) const {
    const auto name = copies_.next(at(when), channels_.at(helper));
    return name ? std::to_string(name->channel) + "/" + std::to_string(name->number) : "none";
  }

  std::shared_ptr<Flow> flow_ = std::make_shared<Flow>(Time{}, make_congestion("auto", std::nullopt));
  Copies::Channels channels_;
  Copies copies_{channels_};
};

TEST_F(CopiesTest, ALonePacketGoesOnTheQuickestOtherChannelAtOnce) {
  add_channel(0, 20ms);
  add_channel(1, 40ms);
  add_channel(2, 30ms);
  send(0, 1s);
  EXPECT_EQ(next(1s, 0), "none");
  EXPECT_EQ(next(1s, 1), "none");
  EXPECT_EQ(next(1s, 2), "0/1");
  channels_.at(0).sent.find(1)->copied = true;
  EXPECT_EQ(next(1s, 2), "none");
  EXPECT_EQ(copies_.due(), kNever);
}

TEST_F(CopiesTest, ATailIsCopiedOnlyWherePacketsGetLost) {
  add_channel(0, 20ms);
  add_channel(1, 20ms);
  for (int i = 0; i < 20; ++i) send(0, 1s);
  EXPECT_EQ(next(1s, 1), "none");
  copies_.on_report(95, 5);
  EXPECT_EQ(next(1s, 1), "0/20");
}

TEST_F(CopiesTest, AnOverduePacketIsCopiedTheOldestFirst) {
  add_channel(0, 20ms);
  add_channel(1, 20ms);
  for (int i = 0; i < 20; ++i) send(0, 1s + i * 1ms);
  EXPECT_EQ(next(1s + 20ms, 1), "none");
  const Time due = copies_.due();
  EXPECT_GT(due, at(1s + 40ms));
  EXPECT_EQ(copies_.next(due, channels_.at(1))->number, 1U);
}

TEST_F(CopiesTest, WhatComesMuchLaterIsOvertakenAtOnce) {
  add_channel(0, 400ms);
  add_channel(1, 20ms);
  for (int i = 0; i < 20; ++i) send(0, 1s);
  EXPECT_EQ(next(1s, 1), "0/1");
}

TEST_F(CopiesTest, NoMoreThanTheBudget) {
  add_channel(0, 400ms);
  add_channel(1, 20ms);
  for (int i = 0; i < 2000; ++i) send(0, 1s);
  std::uint64_t copied = 0;
  for (PacketNumber n = 1; next(1s, 1) != "none"; ++n, copied += 1200) {
    ASSERT_EQ(next(1s, 1), "0/" + std::to_string(n));
    channels_.at(0).sent.find(n)->copied = true;
    copies_.on_copied(1200);
  }
  EXPECT_GE(copied, Copies::kFree);
  EXPECT_LE(copied, Copies::kFree + 2000 * 1200 / Copies::kShare + 1200);
  EXPECT_EQ(next(1s + 120ms, 1), "none");
  // The channel has all but stopped.
  EXPECT_EQ(next(1s + 200ms, 1), "0/" + std::to_string(copied / 1200 + 1));
}

TEST_F(CopiesTest, OneChannelHasNoHelper) {
  add_channel(0, 20ms);
  send(0, 1s);
  EXPECT_EQ(next(2s, 0), "none");
  EXPECT_EQ(copies_.due(), kNever);
}

}  // namespace
}  // namespace mcdtp
