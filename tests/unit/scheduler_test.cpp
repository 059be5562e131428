#include "common/core/scheduler.h"

#include <gtest/gtest.h>

#include <string>

#include "common/core/congestion/congestion.h"

namespace mcdtp {
namespace {

using namespace std::chrono_literals;

// Channels that have proved themselves, each with an RTT of its own, and a stream with bytes to send.
class SchedulerTest : public testing::Test {
 protected:
  Channel& add_channel(ChannelId id, Duration rtt) {
    Channel& channel = channels_.try_emplace(id, id, true).first->second;
    channel.flow = std::make_shared<Flow>(Time{}, make_congestion("auto", std::nullopt));
    channel.paths.set_candidates({0});
    channel.paths.on_covered(0, true);
    see(channel, rtt);
    return channel;
  }
  // A report of one packet.
  void see(Channel& channel, Duration rtt) {
    const PacketNumber number = channel.sent.next();
    put_in_flight(channel, 1200);
    ReportNews news;
    const ReportFrame report{channel.id(), number + 1, {}, 0, 1, 0, 0, {{number, number + 1}}};
    EXPECT_TRUE(channel.loss.on_report(Time{rtt}, Time{rtt}, report, channel.sent, news));
    channel.capacity.on_report({Time{}, 1200, 1200, rtt, 5ms});
    scheduler_.compare(channels_);
  }
  void write(std::size_t bytes) {
    for (std::size_t left = bytes; left > 0;) {
      const std::size_t size = std::min(left, streams_.write_room(kStdio).size());
      ASSERT_GT(size, 0U);
      streams_.wrote(kStdio, size);
      left -= size;
    }
  }
  static void put_in_flight(Channel& channel, std::uint32_t bytes) {
    SentPacket packet;
    packet.size = bytes;
    channel.sent.add(std::move(packet));
  }
  // The channels that carry the next packets of so many bytes, which stay in flight.
  std::string carriers(Scheduler& scheduler, int packets, std::uint32_t size = 1200) {
    std::string ids;
    for (int i = 0; i < packets; ++i) {
      for (auto& [id, channel] : channels_) {
        if (!scheduler.may_carry(channel)) continue;
        ids += std::to_string(id);
        put_in_flight(channel, size);
        scheduler.on_sent(size);
        break;
      }
    }
    return ids;
  }

  Channels channels_;
  ControlQueue control_;
  std::deque<StreamNews> news_;
  Streams streams_{Role::kClient, control_, news_};
  Scheduler scheduler_{channels_, streams_, Coupling::kCoupled};
};

TEST_F(SchedulerTest, AFullChannelIsPassedOverAndATurnIsHalfOfWhatTheNextIsWorth) {
  for (ChannelId id = 0; id < 3; ++id) add_channel(id, 20ms);
  write(100'000);
  // Each is worth ten packets.
  EXPECT_EQ(carriers(scheduler_, 20), std::string(10, '0') + std::string(5, '1') + std::string(5, '2'));
}

// One packet more would go as a train of its own.
TEST_F(SchedulerTest, ATurnIsAWholeTrain) {
  for (ChannelId id = 0; id < 2; ++id)
    add_channel(id, 20ms).capacity.on_report({Time{}, 1'000'000, 1'000'000, 20ms, 5ms});
  write(100'000);
  EXPECT_EQ(carriers(scheduler_, 12, 16'000), "000011110000");
  scheduler_.on_pause();
  EXPECT_EQ(carriers(scheduler_, 88, 1'472), std::string(44, '1') + std::string(44, '0'));
}

TEST_F(SchedulerTest, APauseEndsTheTurn) {
  for (ChannelId id = 0; id < 2; ++id) add_channel(id, 20ms);
  write(100'000);
  EXPECT_EQ(carriers(scheduler_, 2), "00");
  scheduler_.on_pause();
  EXPECT_EQ(carriers(scheduler_, 2), "11");
}

TEST_F(SchedulerTest, WhereAllAreFullTheLeastLoadedIsNext) {
  put_in_flight(add_channel(0, 20ms), 30'000);
  put_in_flight(add_channel(1, 20ms), 20'000);
  put_in_flight(add_channel(2, 20ms), 40'000);
  write(100'000);
  // A quarter of its window at once.
  EXPECT_EQ(carriers(scheduler_, 4), "1111");
}

TEST_F(SchedulerTest, ALateChannelCarriesOnlyWhatTheOthersCannotInTime) {
  add_channel(0, 20ms);
  add_channel(1, 400ms);
  put_in_flight(channels_.at(0), 20'000);
  write(100);
  EXPECT_EQ(carriers(scheduler_, 3), "000");
  // 64 packets a round trip of 20 ms carry all that in less than 400 ms, but not more than a megabyte.
  write(500'000);
  EXPECT_EQ(carriers(scheduler_, 3), "000");
}

TEST_F(SchedulerTest, ASilentChannelIsPassedOver) {
  add_channel(0, 20ms).loss.on_probe_timeout();
  add_channel(1, 20ms);
  scheduler_.compare(channels_);
  write(100'000);
  EXPECT_EQ(carriers(scheduler_, 3), "111");
  channels_.at(1).loss.on_probe_timeout();
  scheduler_.compare(channels_);
  EXPECT_EQ(carriers(scheduler_, 3), "111");
}

TEST_F(SchedulerTest, UncoupledChannelsNeedNoTurns) {
  Scheduler uncoupled{channels_, streams_, Coupling::kNone};
  for (ChannelId id = 0; id < 3; ++id) add_channel(id, 20ms);
  uncoupled.compare(channels_);
  write(100'000);
  for (auto& [id, channel] : channels_) EXPECT_TRUE(uncoupled.may_carry(channel));
  put_in_flight(channels_.at(1), 20'000);
  EXPECT_FALSE(uncoupled.may_carry(channels_.at(1)));
  put_in_flight(channels_.at(0), 20'000);
  put_in_flight(channels_.at(2), 20'000);
  for (auto& [id, channel] : channels_) EXPECT_TRUE(uncoupled.may_carry(channel));
}

TEST_F(SchedulerTest, AWeightIsTheQuickestRoundBesideItsOwn) {
  Channel& quick = add_channel(0, 20ms);
  Channel& late = add_channel(1, 220ms);
  EXPECT_EQ(scheduler_.weight(quick), 1);
  EXPECT_NEAR(scheduler_.weight(late), 25.0 / 225, 1e-9);
  Scheduler uncoupled{channels_, streams_, Coupling::kNone};
  EXPECT_EQ(uncoupled.weight(late), 1);
  ReportSample sample;
  sample.rtt = 230ms;
  scheduler_.make_comparable(late, sample);
  EXPECT_EQ(sample.rtt, 30ms);
  scheduler_.make_comparable(quick, sample);
  EXPECT_EQ(sample.rtt, 30ms);
}

TEST_F(SchedulerTest, AQueueThatWasThereFirstMakesNoChannelLater) {
  Channel& first = add_channel(0, 20ms);
  Channel& second = add_channel(1, 120ms);
  for (int i = 0; i < 50; ++i) see(first, 120ms);
  EXPECT_EQ(scheduler_.weight(second), 1);
  ReportSample sample;
  sample.rtt = 120ms;
  scheduler_.make_comparable(second, sample);
  EXPECT_EQ(sample.rtt, 120ms);
  for (int i = 0; i < 50; ++i) see(first, 100ms);
  sample.rtt = 120ms;
  scheduler_.make_comparable(second, sample);
  EXPECT_NEAR(to_seconds(*sample.rtt), 0.1, 0.001);
}

}  // namespace
}  // namespace mcdtp
