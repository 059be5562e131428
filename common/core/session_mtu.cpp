#include <algorithm>
#include <limits>

#include "common/core/session.h"

// How large datagrams are: where PathMtu meets packets.
namespace mcdtp {

std::size_t Session::packet_room(ChannelId id) const {
  const Channel* found = channel(id);
  if (found == nullptr) return PathMtu::kBase - kSealOverhead;
  return std::max(found->mtu.size(), found->mtu.probe().value_or(0)) - kSealOverhead;
}

bool Session::wants_mtu_limit(ChannelId id) const {
  const Channel* found = channel(id);
  return found != nullptr && found->is_datagram() && found->proved() && found->mtu.wants_limit();
}

void Session::set_mtu_limit(Time now, ChannelId id, std::size_t bytes) {
  if (Channel* channel = find(id)) channel->mtu.set_limit(now, bytes);
}

void Session::on_mtu_refused(Time now, ChannelId id, std::size_t bytes) {
  if (Channel* channel = find(id)) channel->mtu.on_refused(now, bytes);
}

// An address is tried with what every path carries, and a channel that may have become a black hole likewise. What is
// neither data nor a copy of such is small, and reports are never missed one by one: they stay below what every path
// carries.
std::size_t Session::frames_room(const Channel& channel, bool has_load) const {
  if (!channel.is_datagram()) return std::numeric_limits<std::size_t>::max();
  const bool small = channel.ping_due() || !has_load;
  return (small ? PathMtu::kBase : channel.mtu.size()) - kSealOverhead;
}

// A PING and padding. Neither the window nor a timer knows of it; the pacer does, since it takes the path's time.
std::optional<OutgoingPacket> Session::poll_mtu_probe(Time now, Channel& channel, MutableBytes room) {
  if (!channel.is_datagram() || !channel.proved() || channel.ping_due()) return std::nullopt;
  const auto size = channel.mtu.probe();
  if (!size || room.size() < *size - kSealOverhead) return std::nullopt;
  Packetizer packet(room.first(*size - kSealOverhead));
  packet.ping();
  packet.pad(*size - kSealOverhead);

  OutgoingPacket out{packet.size(), channel.sent.next(), kCarriesNewBytes, *channel.paths.active(), true};
  SentPacket sent;
  sent.sent_at = now;
  sent.size = static_cast<std::uint32_t>(*size);
  sent.path = out.path;
  sent.state = SentPacket::State::kProbing;
  sent.mtu_probe = true;
  channel.mtu.on_probe_sent(out.number);
  channel.paths.on_sent(out.path, sent.size);
  channel.on_sent(now, false);
  channel.sent.add(std::move(sent));
  channel.flow->on_probe_sent(*size);
  ++statistics_.packets_sent;
  statistics_.bytes_sent += *size;
  channel.statistics.bytes_sent += *size;
  return out;
}

bool Session::mtu_covered(Time now, Channel& channel, PacketNumber number, const SentPacket& packet) {
  if (packet.path != channel.paths.active()) return packet.mtu_probe;
  if (!packet.mtu_probe) {
    channel.mtu.on_covered(number, packet.size);
    return false;
  }
  channel.mtu.on_probe_covered(now, number, packet.size);
  share_mtu(channel);
  return true;
}

bool Session::mtu_lost(Time now, Channel& channel, PacketNumber number, const SentPacket& packet) {
  if (packet.path != channel.paths.active()) return packet.mtu_probe;
  if (!packet.mtu_probe) {
    channel.mtu.on_lost(now, number, packet.size);
    return false;
  }
  channel.mtu.on_probe_lost(now, number);
  share_mtu(channel);
  return true;
}

// Small packets still come and no others do: without this the channel would be heard of, and swallow all data.
void Session::leave_small_path(Time now, Channel& channel) {
  if (channel.mtu.state() == PathMtu::State::kError) doubt(now, channel);
}

// What one channel has found is likely for the others.
void Session::share_mtu(const Channel& found) {
  if (found.mtu.state() != PathMtu::State::kComplete) return;
  for (auto& [id, other] : channels_) {
    if (&other != &found) other.mtu.set_hint(found.mtu.size());
  }
}

}  // namespace mcdtp
