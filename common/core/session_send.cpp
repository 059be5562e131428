#include <algorithm>
#include <utility>

#include "common/core/check.h"
#include "common/core/packet_header.h"
#include "common/core/session.h"

// The sending half: which frames go next on which channel.
namespace mcdtp {
namespace {

// Reports that are due within so long of another one go with it: a wake-up for all channels, not one for each.
constexpr Duration kReportsTogether = Receipts::kMinInterval / 2;

}  // namespace

std::optional<OutgoingPacket> Session::poll_packet(Time now, ChannelId id, MutableBytes room) {
  CHECK(room.size() >= kMinPacketRoom);
  Channel* channel = find(id);
  if (channel == nullptr || channel->blocked || peer_failed_) return std::nullopt;
  const auto heading = choose_path(*channel);
  if (!heading) return std::nullopt;

  const bool probing = heading->probing;
  if (!probing) {
    if (const auto probe = poll_mtu_probe(now, *channel, room)) return probe;
  }
  room = room.first(std::min(room.size(), heading->room));
  const bool sends_data = !probing && may_send_data(now, *channel, room.size());
  const auto due_copy = !probing && has_nothing_new() && may_send_copy(now, *channel)
                            ? copies_.next(now, *channel)
                            : std::nullopt;
  room = room.first(std::min(room.size(), frames_room(*channel, sends_data || due_copy)));
  Packetizer packet(room);
  std::optional<PacketName> copied;
  if (probing || channel->ping_due()) packet.ping();
  fill_reports(now, *channel, packet);
  if (!probing && carries_control(*channel)) packet.control(control_);
  if (sends_data) fill_data(now, *channel, packet);
  if (due_copy && !packet.asks()) copied = fill_copy(now, *channel, packet, *due_copy);
  if (packet.empty()) return std::nullopt;
  // A packet without data says nothing of what the path could carry, and is not to end a start-up.
  if (!streams_.has_data()) note_application_limited(*channel);
  if (packet.asks() && channel->floor_due(now)) packet.floor(now, *channel);
  // A probe shows that the path carries datagrams of full size, where that much may go.
  if (probing) packet.pad(room.size());
  return seal_off(now, *channel, packet, heading->path, copied);
}

// The path to probe next, else the one in use, else the one to answer on.
std::optional<Session::Heading> Session::choose_path(Channel& channel) {
  if (!channel.is_datagram()) {
    const std::size_t most = is_tried(channel) ? link_trial_.record() : stream_pacer_.quantum();
    return Heading{0, std::max(kMinPacketRoom, most), false};
  }
  const auto heading = [&](PathId path, bool probing) -> std::optional<Heading> {
    const std::uint64_t allowed = channel.paths.allowance(path);
    if (allowed < kMinReply) return std::nullopt;
    return Heading{path,
                   static_cast<std::size_t>(std::min<std::uint64_t>(allowed, kMaxDatagram)) - kSealOverhead,
                   probing};
  };
  while (const auto probe = channel.take_probe()) {
    if (const auto probed = heading(*probe, true)) return probed;
  }
  const auto reply = channel.paths.reply();
  return reply ? heading(*reply, false) : std::nullopt;
}

void Session::fill_reports(Time now, Channel& channel, Packetizer& packet) {
  const Time due = channel.receipts.due();
  if (due <= now) reports_began_ = now;
  const bool goes_along = now - reports_began_ < kReportsTogether && due <= now + kReportsTogether;
  // One that is due, or any news at all when a packet goes anyway.
  const bool wanted = goes_along || (!packet.empty() && due != kNever);
  if (wanted && packet.room_for_report()) {
    packet.report(now, channel);
    channel.receipts.reported();
  }
  if (channel.is_datagram() || !is_control_link(channel)) return;
  const auto is_due = [&](const Channel& other, Time when) {
    return other.is_datagram() && other.receipts.link_due() <= when;
  };
  if (std::none_of(channels_.begin(), channels_.end(),
                   [&](const auto& entry) { return is_due(entry.second, now); }))
    return;
  for (auto& [id, other] : channels_) {
    if (!is_due(other, now + kReportsTogether)) continue;
    if (!packet.room_for_report()) return;
    packet.report(now, other);
    other.receipts.reported_on_link();
  }
}

// Control frames take a proved and quick datagram channel, where a loss costs one round trip; else, and where datagrams are
// lost too often for that, the control link.
bool Session::carries_control(const Channel& channel) {
  if (proved_datagram_ > 0 && !links_help())
    return channel.is_datagram() && channel.proved() && scheduler_.is_quick(channel);
  return is_control_link(channel);
}

void Session::note_application_limited(Channel& channel) {
  if (channel.is_datagram()) return channel.flow->on_application_limited();
  channel.delivery.on_application_limited();
}

void Session::fill_data(Time now, Channel& channel, Packetizer& packet) {
  // Before the data, which leave no room.
  if (channel.floor_due(now)) packet.floor(now, channel);
  packet.data(streams_);
}

bool Session::may_send_data(Time now, Channel& channel, std::size_t room) {
  if (!streams_.has_data()) {
    if (channel.is_datagram()) channel.flow->on_nothing_to_send();
    return false;
  }
  if (!channel.is_datagram()) return stream_channel_may_send(now, channel, room);
  if (!(channel.proved() || may_carry_early(channel)) || !channel.flow->has_room()) return false;
  if (!channel.flow->may_send(now)) {
    scheduler_.on_pause();
    return false;
  }
  return !channel.proved() || scheduler_.may_carry(channel);
}

// What is outstanding on it counts: it is proved, or carries data early.
bool Session::is_in_flight(const Channel& channel) const {
  return channel.is_datagram() && (channel.proved() || is_early());
}

bool Session::stream_channel_may_send(Time now, Channel& channel, std::size_t room) {
  channel.paused = false;
  if (!is_carrier(channel) || leaves_to_early()) return false;
  const std::uint64_t window = stream_window(channel);
  const std::uint64_t held = channel.sent.bytes_outstanding();
  if (held > 0 && held + room > window) return false;
  channel.paused = !stream_pacer_.may_send(now);
  return !channel.paused;
}

std::uint64_t Session::stream_window(const Channel& channel) const {
  if (!udp_decided_) return kStreamChannelWindow;
  if (is_tried(channel)) return link_trial_.window();
  if (datagrams_serve()) return channel.helping_window();
  return channel.stream_window(links_go_by_ssh_ ? least_rtt() : channel.loss.rtt().min());
}

bool Session::is_tried(const Channel& channel) const {
  return link_trial_.tries() && datagrams_serve() && is_control_link(channel);
}

bool Session::may_send_copy(Time now, Channel& channel) {
  return channel.is_datagram() && channel.flow->has_room() && channel.flow->may_send(now);
}

std::optional<PacketName> Session::fill_copy(Time now, Channel& channel, Packetizer& packet,
                                             const PacketName& due) {
  for (std::optional<PacketName> name = due; name; name = copies_.next(now, channel)) {
    SentPacket& original = *find_packet(*name);
    const bool all_room = packet.empty();
    original.copied = packet.copy(streams_, original.cargo);
    if (original.copied) return name;
    // Beside a report there may be too little room: then in the next packet.
    if (!all_room) return std::nullopt;
    original.copied = true;
  }
  return std::nullopt;
}

void Session::pair_twins(SentPacket& copy, const PacketName& name, const PacketName& original) {
  copy.copied = true;
  copy.twin = original;
  find_packet(original)->twin = name;
  copies_.on_copied(copy.size);
}

OutgoingPacket Session::seal_off(Time now, Channel& channel, Packetizer& packet, PathId path,
                                 const std::optional<PacketName>& copied) {
  OutgoingPacket out{packet.size(), channel.sent.next(), kCarriesNewBytes, path};
  if (packet.carries_requeued()) out.flags |= kCarriesRequeued;
  if (packet.asks() && !streams_.has_data()) out.flags |= kNothingLeft;

  SentPacket sent;
  sent.sent_at = now;
  sent.size = static_cast<std::uint32_t>(packet.size() + kSealOverhead);
  sent.path = path;
  sent.state = packet.asks() ? SentPacket::State::kOutstanding : SentPacket::State::kSilent;
  sent.again = packet.carries_requeued() && !copied;
  sent.cargo = packet.take_cargo();
  sent.snapshot = count_against_flow(now, channel, sent.size, packet.asks());
  count_sent(now, channel, packet, path, sent.size);
  if (copied) pair_twins(sent, {channel.id(), out.number}, *copied);
  channel.sent.add(std::move(sent));
  channel.sent.forget(now - 2 * channel.loss.rtt().smoothed());
  return out;
}

// What is in flight once it has gone, and what its report will show of the path's rate.
DeliverySnapshot Session::count_against_flow(Time now, Channel& channel, std::uint64_t size, bool asks) {
  const std::uint64_t outstanding = channel.sent.bytes_outstanding();
  if (!channel.is_datagram()) return channel.delivery.on_sent(now, size, outstanding);
  const auto snapshot = channel.flow->on_sent(now, asks ? size : 0);
  if (asks && is_in_flight(channel)) {
    channel.flow->on_counted(size, scheduler_.weight(channel));
    if (outstanding == 0) channel.capacity.on_first_sent(now);
  }
  return snapshot;
}

void Session::count_sent(Time now, Channel& channel, const Packetizer& packet, PathId path,
                         std::uint64_t size) {
  channel.paths.on_sent(path, size);
  channel.on_sent(now, packet.asks());
  ++statistics_.packets_sent;
  statistics_.bytes_sent += size;
  channel.statistics.bytes_sent += size;
  if (!channel.is_datagram()) {
    if (packet.has_data()) stream_pacer_.on_sent(size);
    return;
  }
  statistics_.largest_sent = std::max<std::size_t>(statistics_.largest_sent, size);
  copies_.on_sent(size);
  lost_again_.on_sent(size);
  if (!packet.has_data()) return;
  channel.mtu.on_data_sent(now, size);
  scheduler_.on_sent(size);
}

}  // namespace mcdtp
