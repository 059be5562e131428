#include "common/core/sent_packets.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

using State = SentPacket::State;

SentPacket packet(std::uint32_t size, State state = State::kOutstanding) {
  SentPacket p;
  p.size = size;
  p.state = state;
  return p;
}

TEST(SentPackets, SumsFollowStates) {
  SentPackets sent;
  sent.add(packet(100));
  sent.add(packet(30, State::kSilent));
  sent.add(packet(200));
  EXPECT_EQ(sent.next(), 3u);
  EXPECT_EQ(sent.bytes_outstanding(), 300u);
  sent.resolve(*sent.find(0), State::kLost);
  sent.resolve(*sent.find(0), State::kCovered);
  sent.resolve(*sent.find(1), State::kCovered);
  EXPECT_EQ(sent.bytes_outstanding(), 200u);
  EXPECT_EQ(sent.packets_outstanding(), 1u);
}

TEST(SentPackets, LostOnesAreKnownForAWhile) {
  SentPackets sent;
  for (int i = 0; i < 4; ++i) sent.add(packet(1));
  sent.resolve(*sent.find(0), State::kCovered);
  SentPacket& lost = *sent.find(1);
  lost.lost_at = Time{} + seconds(5);
  sent.resolve(lost, State::kLost);
  sent.resolve(*sent.find(2), State::kCovered);
  sent.forget(Time{} + seconds(5));
  EXPECT_EQ(sent.first(), 1u);
  EXPECT_EQ(sent.find(0), nullptr);
  sent.forget(Time{} + seconds(6));
  EXPECT_EQ(sent.first(), 3u);
  EXPECT_EQ(sent.find(4), nullptr);
  EXPECT_EQ(sent.next(), 4u);
}

TEST(Cargo, HoldsManyPieces) {
  Cargo cargo;
  EXPECT_TRUE(cargo.empty());
  cargo.add(DataRef{0, 0, 10});
  EXPECT_FALSE(cargo.rest);
  cargo.add(DataRef{2, 5, 1});
  cargo.add(ControlFrame{StopFrame{2}});
  EXPECT_EQ(cargo.rest->data.size(), 1u);
  EXPECT_EQ(cargo.rest->control.size(), 1u);
  Cargo control_only;
  control_only.add(ControlFrame{StopFrame{2}});
  EXPECT_FALSE(control_only.empty());
}

}  // namespace
}  // namespace mcdtp
