#include "common/core/packetizer.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

class PacketizerTest : public testing::Test {
 protected:
  std::vector<Frame> frames(const Packetizer& packet) const {
    Reader reader(Bytes(room).first(packet.size()));
    std::vector<Frame> found;
    while (auto frame = read_frame(reader)) found.push_back(std::move(*frame));
    EXPECT_FALSE(reader.failed());
    return found;
  }
  void write(StreamId id, std::size_t size) {
    while (size > 0) {
      MutableBytes place = streams.write_room(id);
      place = place.first(std::min(place.size(), size));
      std::fill(place.begin(), place.end(), std::uint8_t{'x'});
      streams.wrote(id, place.size());
      size -= place.size();
    }
  }

  std::array<std::uint8_t, 1173> room{};
  ControlQueue control;
  std::deque<StreamNews> news;
  Streams streams{Role::kClient, control, news};
  Channel channel{0, true};
};

TEST_F(PacketizerTest, FillsThePacketAndRemembersWhatIsInIt) {
  write(kStdio, 5000);
  Packetizer packet(room);
  control.push(StopFrame{kStdio});
  packet.control(control);
  packet.data(streams);
  EXPECT_EQ(packet.size(), room.size());
  EXPECT_TRUE(packet.asks() && packet.has_data() && !packet.carries_requeued());
  const auto found = frames(packet);
  ASSERT_EQ(found.size(), 2u);
  const Cargo cargo = packet.take_cargo();
  EXPECT_EQ(cargo.data.size, std::get<DataFrame>(found[1]).data.size());
  EXPECT_EQ(cargo.rest->control.size(), 1u);
}

TEST_F(PacketizerTest, RequeuedBytesAreMarked) {
  write(kStdio, 100);
  Packetizer first(room);
  first.data(streams);
  streams.requeue(first.take_cargo().data);
  write(kStdio, 10);
  Packetizer second(room);
  second.data(streams);
  EXPECT_TRUE(second.carries_requeued());
  EXPECT_EQ(frames(second).size(), 2u);
  EXPECT_EQ(second.take_cargo().rest->data.size(), 1u);
}

TEST_F(PacketizerTest, ReportsAndPaddingAskForNothing) {
  ASSERT_TRUE(channel.receipts.on_packet(Time{}, 0));
  Packetizer packet(room);
  packet.report(Time{}, channel);
  packet.pad(500);
  EXPECT_EQ(packet.size(), 500u);
  EXPECT_FALSE(packet.asks() || packet.has_data());
  EXPECT_TRUE(packet.take_cargo().empty());
  EXPECT_EQ(frames(packet).size(), 1u);
}

TEST_F(PacketizerTest, TheLargestControlFrameFitsTheLeastRoom) {
  streams.open(std::string(kMaxTargetSize, 'x'));
  ASSERT_TRUE(channel.receipts.on_packet(Time{}, 0));
  Packetizer packet(MutableBytes(room).first(kMaxTargetSize + 96));
  packet.ping();
  packet.report(Time{}, channel);
  packet.control(control);
  EXPECT_TRUE(control.empty());
}

TEST_F(PacketizerTest, NoFloorWhereThereIsNoRoom) {
  Packetizer packet(MutableBytes(room).first(kMaxFloorSize));
  packet.ping();
  packet.floor(Time{}, channel);
  EXPECT_EQ(packet.size(), 1u);
}

}  // namespace
}  // namespace mcdtp
