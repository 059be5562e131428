#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "common/core/session.h"

namespace mcdtp {
namespace {

constexpr ChannelId kChannels = 3;
constexpr Duration kTrip = milliseconds(5);

// Two sessions whose client knows two addresses of the server; either may be cut off. The server sees the client at an
// address of its own for each. Nothing else is lost.
class TwoWays {
 public:
  TwoWays() : client_(Time{}, config(Role::kClient)), server_(Time{}, config(Role::kServer)) {
    for (Session* session : {&client_, &server_}) {
      session->add_stream_channel(Time{}, kSshChannel);
      for (ChannelId id = 0; id < kChannels; ++id) {
        const bool probes = session == &client_ && id == 0;
        session->add_datagram_channel(Time{}, id, probes ? std::vector<PathId>{0, 1} : std::vector<PathId>{});
      }
    }
  }

  void cut(PathId path) { cut_ = path; }
  // The client uses channel 0 alone, or all again.
  void hold_others(bool hold) {
    for (ChannelId id = 1; id < kChannels; ++id) client_.set_blocked(id, hold);
  }
  void write() {
    client_.streams().write_room(kStdio);
    client_.streams().wrote(kStdio, 1000);
  }
  // In steps of a trip each.
  void pass(Duration time) {
    for (const Time end = now_ + time; now_ < end; now_ += kTrip) step();
  }
  std::optional<PathId> active(ChannelId id) { return client_.channel(id)->paths.active(); }

 private:
  struct Flying {
    ChannelId channel;
    OutgoingPacket packet;
    std::vector<std::uint8_t> frames;
  };

  static SessionConfig config(Role role) {
    SessionConfig config;
    config.role = role;
    config.channels = kChannels;
    config.congestion = [] { return make_congestion("fixed", 10'000'000); };
    return config;
  }

  void step() {
    for (Session* session : {&client_, &server_}) session->on_timeout(now_);
    const auto up = take_all(client_), down = take_all(server_);
    for (const Flying& one : up) give(server_, one);
    for (const Flying& one : down) give(client_, one);
  }

  std::vector<Flying> take_all(Session& from) {
    std::vector<Flying> all;
    for (ChannelId id = 0; id <= kChannels; ++id) {
      const ChannelId channel = id == kChannels ? kSshChannel : id;
      std::vector<std::uint8_t> room(channel == kSshChannel ? 4096 : from.packet_room(channel));
      while (const auto packet = from.poll_packet(now_, channel, room))
        all.push_back({channel, *packet, {room.begin(), room.begin() + packet->size}});
    }
    return all;
  }

  void give(Session& to, const Flying& one) {
    if (one.channel != kSshChannel && one.packet.path == cut_) return;
    to.on_packet(now_, one.channel, one.packet.path, one.packet.number, one.packet.flags, one.frames,
                 one.frames.size() + kSealOverhead);
  }

  Session client_, server_;
  std::optional<PathId> cut_;
  Time now_ = Time(seconds(1));
};

// Only the first channel has the candidates; another that finds out later that the way is dead follows it all the same.
TEST(SessionPaths, AllChannelsFindTheWayThatIsLeft) {
  TwoWays sessions;
  sessions.cut(1);
  sessions.pass(seconds(3));
  for (ChannelId id = 0; id < kChannels; ++id) ASSERT_EQ(sessions.active(id), 0u) << id;
  sessions.cut(0);
  sessions.hold_others(true);
  sessions.write();
  sessions.pass(seconds(3));
  ASSERT_EQ(sessions.active(0), 1u);
  sessions.hold_others(false);
  sessions.pass(seconds(120));
  for (ChannelId id = 0; id < kChannels; ++id) EXPECT_EQ(sessions.active(id), 1u) << id;
}

}  // namespace
}  // namespace mcdtp
