#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/core/session.h"
#include "tests/fuzz/session_pair.h"

namespace mcdtp {

// Two sessions whose client knows two addresses of the server; either may be cut off. The server sees the client at an
// address of its own for each. Nothing else is lost.
class TwoWays {
 public:
  static constexpr ChannelId kChannels = fuzz::kPairChannels;

  TwoWays()
      : client_(Time{}, fuzz::pair_config(Role::kClient)), server_(Time{}, fuzz::pair_config(Role::kServer)) {
    for (Session* session : {&client_, &server_}) {
      session->add_stream_channel(Time{}, kSshChannel);
      session->add_stream_channel(Time{}, kFirstTcpChannel);
      for (ChannelId id = 0; id < kChannels; ++id) {
        const bool probes = session == &client_ && id == 0;
        session->add_datagram_channel(Time{}, id, probes ? std::vector<PathId>{0, 1} : std::vector<PathId>{});
      }
    }
  }

  void cut(PathId path) { cut_ = path; }
  // The client uses these channels alone.
  void use(std::set<ChannelId> used) {
    for (ChannelId id = 0; id < kChannels; ++id) client_.set_blocked(id, !used.contains(id));
  }
  void write() { write(client_); }
  void answer() { write(server_); }
  // In steps of a trip each.
  void pass(Duration time) {
    for (const Time end = now_ + time; now_ < end;) step();
  }
  // The client sleeps; what goes to it by SSH and TCP waits.
  void sleep(Duration time) {
    for (const Time end = now_ + time; now_ < end; now_ += kTrip) {
      server_.on_timeout(now_);
      for (Flying& one : take_all(server_)) {
        if (one.channel >= kSshChannel) waiting_.push_back(std::move(one));
      }
    }
    for (const Flying& one : std::exchange(waiting_, {})) give(client_, one);
  }
  std::optional<PathId> active(ChannelId id) const { return client_.channel(id)->paths.active(); }
  bool server_has_proved(ChannelId id) const { return server_.channel(id)->proved(); }
  // Packets that the client has sent by SSH.
  PacketNumber by_ssh() const { return client_.channel(kSshChannel)->sent.next(); }

 private:
  struct Flying {
    ChannelId channel;
    OutgoingPacket packet;
    std::vector<std::uint8_t> frames;
  };

  static constexpr Duration kTrip = milliseconds(5);

  static void write(Session& session) {
    const std::size_t room = session.streams().write_room(kStdio).size();
    session.streams().wrote(kStdio, std::min<std::size_t>(room, 1000));
  }

  void step() {
    for (Session* session : {&client_, &server_}) session->on_timeout(now_);
    const auto up = take_all(client_), down = take_all(server_);
    now_ += kTrip;
    for (const Flying& one : up) give(server_, one);
    for (const Flying& one : down) give(client_, one);
  }

  std::vector<Flying> take_all(Session& from) {
    std::vector<Flying> all;
    for (const ChannelId channel :
         {ChannelId{0}, ChannelId{1}, ChannelId{2}, kSshChannel, kFirstTcpChannel}) {
      std::vector<std::uint8_t> room(channel >= kSshChannel ? 4096 : from.packet_room(channel));
      while (const auto packet = from.poll_packet(now_, channel, room))
        all.push_back({channel, *packet, {room.begin(), room.begin() + packet->size}});
    }
    return all;
  }

  void give(Session& to, const Flying& one) {
    if (one.channel < kSshChannel && one.packet.path == cut_) return;
    to.on_packet(now_, now_, one.channel, one.packet.path, one.packet.number, one.packet.flags, one.frames,
                 one.frames.size() + kSealOverhead);
  }

  Session client_, server_;
  std::vector<Flying> waiting_;
  std::optional<PathId> cut_;
  Time now_ = Time(seconds(1));
};

}  // namespace mcdtp
