#include <algorithm>
#include <utility>

#include "common/core/session.h"

// The receiving half: packets, the frames in them, and what reports say of what we sent.
namespace mcdtp {

bool Session::on_packet(Time now, Time arrived, ChannelId id, PathId from, PacketNumber number,
                        std::uint8_t flags, Bytes frames, std::size_t size) {
  Channel* channel = find(id);
  if (channel == nullptr || peer_failed_) return false;
  if (!channel->receipts.on_packet(arrived, number)) return false;
  if (channel->is_datagram()) on_datagram(now, *channel, from, size, channel->receipts.is_highest(number));
  channel->statistics.bytes_received += size;
  Reader reader(frames);
  bool asks = false;
  while (const auto frame = read_frame(reader)) {
    asks =
        asks || !(std::holds_alternative<ReportFrame>(*frame) || std::holds_alternative<FloorFrame>(*frame));
    on_frame(now, arrived, *channel, *frame);
    // A frame may have closed the channel.
    if (peer_failed_ || (channel = find(id)) == nullptr) return true;
  }
  if (reader.failed()) accept("a packet holds what is no frame");
  if (!channel->is_datagram() && channel->count_unreported() > kMaxUnreported)
    accept("no report of what goes over SSH or TCP");
  count_control();
  channel->receipts.schedule(now, asks, (flags & kNothingLeft) != 0);
  return true;
}

void Session::on_datagram(Time now, Channel& channel, PathId from, std::size_t size, bool highest) {
  statistics_.largest_received = std::max(statistics_.largest_received, size);
  if (channel.paths.on_packet(from, size, highest)) channel.probe_soon(now);
  if (highest) channel.on_heard(now);
  if (std::exchange(udp_heard_, true)) return;
  const bool is_candidate = role_ == Role::kClient && channel.paths.is_ours(from);
  lead_others(now, is_candidate ? std::optional(from) : std::nullopt);
}

void Session::on_validated(ChannelId id, PathId path) {
  if (Channel* channel = find(id)) channel->paths.on_validated(path);
}

// The first channel leads the others as soon as anything comes: by then the client has sent on all.
void Session::on_expected(Time now, ChannelId id, PathId path) {
  Channel* channel = find(id);
  if (channel != nullptr && channel->paths.expect(path) && (id == 0 || udp_heard_)) channel->probe_soon(now);
}

void Session::on_frame(Time now, Time arrived, Channel& channel, const Frame& frame) {
  if (const auto* data = std::get_if<DataFrame>(&frame)) {
    return accept(streams_.on_data(now, *data, channel.loss.rtt().smoothed()));
  }
  if (const auto* report = std::get_if<ReportFrame>(&frame)) return on_report(now, arrived, channel, *report);
  if (const auto* floor = std::get_if<FloorFrame>(&frame)) return on_floor(*floor);
  if (const auto* credit = std::get_if<StreamCreditFrame>(&frame)) return streams_.on_stream_credit(*credit);
  if (const auto* credit = std::get_if<SessionCreditFrame>(&frame))
    return streams_.on_session_credit(*credit);
  if (const auto* fin = std::get_if<FinFrame>(&frame)) return accept(streams_.on_fin(*fin));
  if (const auto* reset = std::get_if<ResetFrame>(&frame)) return accept(streams_.on_reset(*reset));
  if (const auto* stop = std::get_if<StopFrame>(&frame)) return streams_.on_stop(*stop);
  if (const auto* complete = std::get_if<CompleteFrame>(&frame)) return streams_.on_complete(*complete);
  if (const auto* open = std::get_if<OpenFrame>(&frame)) return accept(streams_.on_open(*open));
  if (const auto* opened = std::get_if<OpenedFrame>(&frame)) return accept(streams_.on_opened(*opened));
  if (const auto* exchange = std::get_if<ExchangeFrame>(&frame)) return on_exchange(now, *exchange);
  if (const auto* set = std::get_if<SetFrame>(&frame)) return on_set(now, *set);
  if (const auto* exit = std::get_if<ExitFrame>(&frame)) {
    if (role_ == Role::kClient && !std::exchange(exit_seen_, true)) {
      events_.push_back({SessionEventKind::kExit, 0, exit->status, {}});
    }
  }
}

void Session::accept(const std::optional<std::string>& fault) {
  if (!fault || peer_failed_) return;
  peer_failed_ = true;
  events_.push_back({SessionEventKind::kPeerFault, 0, 0, *fault});
}

// Now and then, and anew each time: frames move from queue to packet and back in many ways.
void Session::count_control() {
  if (control_.pushed() - control_counted_ < kControlBetweenCounts) return;
  control_counted_ = control_.pushed();
  std::size_t count = control_.size();
  for (const auto& [id, channel] : channels_) count += channel.sent.control_outstanding();
  if (count > kMaxControl) accept("no report of what answers its streams");
}

// Exchange and Set: the side with fewer channels, and with less memory, decides.
void Session::on_exchange(Time now, const ExchangeFrame& exchange) {
  if (role_ != Role::kServer) return accept("the server sent an Exchange");
  if (std::exchange(exchange_seen_, true)) return;
  wished_channels_ = std::min(wished_channels_, exchange.channels);
  agree_on_memory(exchange.memory);
  control_.push(SetFrame{wished_channels_, memory_});
  events_.push_back({SessionEventKind::kSet, 0, wished_channels_, {}});
  close_above(now, wished_channels_);
  // Else no firewall is in the way.
  if (!udp_heard_) tell_ports(exchange.ports);
}

void Session::tell_ports(const std::vector<std::uint16_t>& ports) {
  for (ChannelId id = 0; id < ports.size(); ++id) {
    if (ports[id] != 0 && find(id) != nullptr)
      events_.push_back({SessionEventKind::kPeerPort, id, ports[id], {}});
  }
}

void Session::on_set(Time now, const SetFrame& set) {
  if (role_ != Role::kClient) return accept("the client sent a Set");
  if (std::exchange(set_seen_, true)) return;
  wished_channels_ = std::min(wished_channels_, set.channels);
  agree_on_memory(set.memory);
  events_.push_back({SessionEventKind::kSet, 0, wished_channels_, {}});
  close_above(now, wished_channels_);
}

void Session::agree_on_memory(std::uint64_t theirs) {
  memory_ = std::max(kMinMemory, std::min(theirs, memory_));
  streams_.set_memory(memory_);
}

void Session::on_floor(const FloorFrame& floor) {
  if (Channel* channel = find(floor.channel)) channel->receipts.on_floor(floor);
}

// Reports may overtake each other.
void Session::note_peer_drops(Channel& channel, std::uint64_t total) {
  if (total <= channel.statistics.peer_kernel_drops) return;
  statistics_.peer_kernel_drops += total - std::exchange(channel.statistics.peer_kernel_drops, total);
}

void Session::on_report(Time now, Time arrived, const Channel& from, const ReportFrame& report) {
  Channel* channel = find(report.channel);
  ReportNews news;
  if (channel == nullptr || !channel->loss.on_report(now, arrived, report, channel->sent, news)) {
    ++statistics_.bad_reports;
    return;
  }
  // There nothing overtakes, and what is never reported would be kept for ever, with all that follows.
  if (!channel->is_datagram() && channel->sent.oldest_outstanding() < report.ranges.front().end)
    return accept("a report that leaves out what went over SSH or TCP before");
  note_peer_drops(*channel, report.kernel_drops);
  // What it carried may be forgotten by then.
  const bool is_back = news.newer && channel->is_silent();
  if (news.newer) channel->on_answer();
  if (is_back) relieve_ssh(now);
  const bool was_proved = channel->proved();
  ReportSample sample;
  sample.rtt = news.rtt;
  if (news.rtt) channel->way_back.on_report(now, arrived - report.delay, report.arrived);
  cover_all(now, *channel, news, sample);
  if (was_proved) {
    sample.covered_span = news.covered_span;
    channel->on_covered_span(now, news.covered_span);
  }
  if (channel->is_datagram()) copies_.on_report(news.covered.size(), 0);
  if (channel->is_datagram()) channel->flow->on_found(sample.found);
  if (!news.covered.empty()) channel->on_reported(now, from.is_datagram());
  if (!was_proved && channel->proved()) lose_unheard(now, *channel);
  lose(now, arrived, *channel, sample);
  if (news.rtt) take_rate(*channel, *channel->sent.find(report.ranges.front().end - 1), sample);
  feed_congestion(now, *channel, sample);
  leave_small_path(now, *channel);
  channel->sent.forget(now - 2 * channel->loss.rtt().smoothed());
}

void Session::cover_all(Time now, Channel& channel, const ReportNews& news, ReportSample& sample) {
  for (const PacketNumber number : news.covered) {
    SentPacket& packet = *channel.sent.find(number);
    if (mtu_covered(now, channel, number, packet)) continue;
    sample.covered += packet.size;
    if (packet.snapshot.quiet) sample.quiet_covered += packet.size;
    cover(now, channel, packet);
  }
  for (const PacketNumber number : news.covered_late) {
    SentPacket& packet = *channel.sent.find(number);
    if (mtu_covered(now, channel, number, packet)) continue;
    ++statistics_.spurious_losses;
    ++channel.statistics.spurious_losses;
    sample.found += packet.size;
    if (packet.snapshot.quiet) sample.quiet_found += packet.size;
    cover(now, channel, packet);
  }
  channel.statistics.bytes_covered += sample.covered + sample.found;
}

void Session::cover(Time now, Channel& channel, SentPacket& packet) {
  const Cargo cargo = std::exchange(packet.cargo, {});
  if (SentPacket* twin = twin_of(packet)) twin->cargo = {};
  cargo.for_each_data([this](const DataRef& ref) { streams_.covered(ref); });
  if (channel.on_covered(now, packet)) on_proved(now, channel);
}

// Datagrams only: a stream channel loses nothing but itself.
void Session::lose(Time now, Time known_at, Channel& channel, ReportSample& sample) {
  if (!channel.is_datagram()) return;
  const std::vector<PacketNumber> lost =
      channel.loss.detect_lost(now, known_at, channel.report_interval(), channel.sent);
  copies_.on_report(0, lost.size());
  send_lost_again(now);
  for (const PacketNumber number : lost) {
    SentPacket& packet = *channel.sent.find(number);
    if (mtu_lost(now, channel, number, packet)) continue;
    sample.lost += packet.size;
    sample.newest_lost = std::max(sample.newest_lost, packet.snapshot.sent);
    if (packet.snapshot.quiet) sample.quiet_lost += packet.size;
    ++statistics_.packets_lost;
    ++channel.statistics.packets_lost;
    if (requeue(packet) && packet.again && channel.loss.rtt().has_sample())
      lost_again_.note(now, channel.loss.rtt().min(), packet.cargo);
  }
  channel.flow->on_lost(sample.lost);
}

void Session::send_lost_again(Time now) {
  while (const auto ref = lost_again_.take_due(now)) streams_.requeue(*ref);
}

void Session::lose_all(Time now, Channel& channel) {
  for (SentPacket& packet : channel.sent.packets()) {
    if (packet.undecided()) lose_packet(now, channel, packet);
  }
}

void Session::lose_packet(Time now, Channel& channel, SentPacket& packet) {
  packet.lost_at = now;
  channel.sent.resolve(packet, SentPacket::State::kLost);
  requeue(packet);
}

SentPacket* Session::find_packet(const PacketName& name) {
  Channel* channel = find(name.channel);
  return channel != nullptr ? channel->sent.find(name.number) : nullptr;
}

// What the packet carried is sent again, once, unless its twin is still on its way: whether it is. It stays known, so that a
// late report still releases its bytes.
bool Session::requeue(SentPacket& packet) {
  SentPacket* twin = twin_of(packet);
  // Its twin may still come, unless the channel that carries that has gone silent as well; where it is late, it is
  // helped like any other.
  if (twin != nullptr && twin->state == SentPacket::State::kOutstanding &&
      find(packet.twin->channel)->steady()) {
    twin->copied = false;
    return false;
  }
  if (twin != nullptr && std::exchange(twin->requeued_early, true)) packet.requeued_early = true;
  if (std::exchange(packet.requeued_early, true)) return false;
  requeue_data(packet.cargo);
  requeue_control(packet.cargo);
  return true;
}

void Session::requeue_data(const Cargo& cargo) {
  cargo.for_each_data([this](const DataRef& ref) { streams_.requeue(ref); });
}

void Session::requeue_control(const Cargo& cargo) {
  if (!cargo.rest) return;
  for (const ControlFrame& frame : cargo.rest->control) {
    if (auto renewed = streams_.renewed(frame)) control_.push(std::move(*renewed));
  }
}

void Session::take_rate(Channel& channel, const SentPacket& newest, ReportSample& sample) {
  if (channel.is_datagram()) return channel.flow->take_rate(newest, sample);
  channel.on_stream_sample(channel.delivery.on_arrived(newest, *sample.rtt));
}

void Session::feed_congestion(Time now, Channel& channel, ReportSample& sample) {
  if (!channel.is_datagram()) {
    channel.on_stream_report(now, sample.covered);
    try_link(now, channel, sample);
    return count_in_flight();
  }
  const std::uint64_t before = channel.sent.bytes_outstanding() + sample.covered + sample.lost;
  note_rtt(now, channel, sample);
  channel.capacity.on_report(
      {now, sample.covered + sample.found, before, sample.rtt, channel.report_interval()});
  datagrams_.note(now, sample.covered, sample.lost, sample.found);
  count_in_flight();
  try_link(now, channel, sample);
  if (sample.covered + sample.found + sample.lost == 0) return;
  sample.now = now;
  sample.smoothed_rtt = channel.loss.rtt().smoothed();
  sample.min_rtt = channel.loss.rtt().min();
  sample.report_interval = channel.report_interval();
  sample.datagram_size = channel.mtu.size();
  scheduler_.make_comparable(channel, sample);
  channel.flow->on_report(sample);
}

// Of a connection that fails, what is out goes by UDP after all.
void Session::try_link(Time now, const Channel& reported, const ReportSample& sample) {
  if (!tries_links_) return;
  Channel* link = control_link();
  if (link == nullptr || !link->is_link() || !datagrams_serve()) return link_trial_.forget();
  const bool carried = link_trial_.carries();
  const bool helped = link_trial_.helps();
  const std::uint64_t arrived = sample.covered + sample.found;
  const bool busy = streams_.has_data() && !common_flow_->is_starting();
  if (reported.is_datagram()) link_trial_.on_datagrams(now, arrived, busy, least_rtt());
  if (&reported == link)
    link_trial_.on_link(arrived, own_rtt(*link, sample.rtt, taken_of_late_.is_much(now)));
  if (const SentPacket* oldest = link->sent.find(link->sent.oldest_outstanding()))
    link_trial_.on_waiting(now - oldest->sent_at);
  if (carried && link_trial_.rests()) lose_all(now, *link);
  if (carried && !helped && link_trial_.helps())
    events_.push_back({SessionEventKind::kLinkHelps, link->id(), 0, {}});
}

// Without the peer's own queue on the way back, where that sends much as well.
std::optional<Duration> Session::own_rtt(const Channel& channel, std::optional<Duration> rtt,
                                         bool both_send) {
  if (!rtt || !both_send) return rtt;
  return std::max(channel.loss.rtt().min(), *rtt - channel.way_back.excess());
}

Duration Session::least_rtt() const {
  Duration least = Duration::max();
  for (const auto& [id, channel] : channels_) {
    if (channel.loss.rtt().has_sample()) least = std::min(least, channel.loss.rtt().min());
  }
  return least < Duration::max() ? least : RttEstimator::kInitialRtt;
}

// Where the peer sends much as well, its own queue is on the way back and in each RTT; all is answered late, and ours moves
// more; its reports wait for their turn. None of it is a queue of ours, unrest of the path, or a host that stands still.
void Session::note_rtt(Time now, Channel& channel, ReportSample& sample) {
  taken_of_late_.note(now, streams_.bytes_taken());
  const bool both_send = taken_of_late_.is_much(now);
  sample.rtt_variation = channel.loss.rtt().variation();
  sample.rtt = own_rtt(channel, sample.rtt, both_send);
  if (sample.rtt) channel.quick_variation.on_sample(*sample.rtt);
  if (!both_send) return;
  sample.rtt_variation = std::min(sample.rtt_variation, channel.quick_variation.get());
  sample.covered_span = {};
}

void Session::count_in_flight() {
  proved_datagram_ = 0;
  scheduler_.compare(channels_);
  for (const auto& [id, channel] : channels_) {
    if (channel.is_datagram()) channel.flow->clear_in_flight();
  }
  for (const auto& [id, channel] : channels_) {
    if (!is_in_flight(channel)) continue;
    if (channel.proved()) ++proved_datagram_;
    // What a silent channel has swallowed is no load on the others.
    if (channel.steady() || !scheduler_.any_steady())
      channel.flow->add_in_flight(channel.sent.bytes_outstanding(), scheduler_.weight(channel));
  }
}

void Session::on_proved(Time now, Channel& channel) {
  events_.push_back({SessionEventKind::kChannelProved, channel.id(), 0, {}});
  if (!channel.is_datagram()) return on_link_proved(now, channel);
  udp_decided_ = udp_judged_ = true;
  if (proved_datagram_ == 0) requeue_all_but(channel);
  if (role_ == Role::kClient) lead_others(now, channel.paths.chosen());
  count_in_flight();
}

// A client that makes a second TCP connection has given datagrams up, or never hoped for them.
void Session::on_link_proved(Time now, const Channel& link) {
  if (link.is_link()) relieve_ssh(now);
  const auto links = std::count_if(channels_.begin(), channels_.end(),
                                   [](const auto& entry) { return entry.second.is_link(); });
  if (links >= 2) give_udp_up();
}

// The other channels follow the first on which anything comes, and the first that found a way: a client's on that way, a
// server's to where each is expected; and a client's follow who shows them a way that they did not know. (Not each: all the
// rest would probe anew, a burst that grows with the square of their number.)
void Session::lead_others(Time now, std::optional<PathId> way) {
  for (auto& [id, other] : channels_) {
    if (!other.is_datagram() || other.proved()) continue;
    const bool learnt = learn_way(other, way);
    if (learnt || proved_datagram_ == 0) other.probe_soon(now);
  }
}

// Candidates have the same numbers on all channels of a client; an address that one has learnt has its number there only, and
// a server chooses none. False: it is known.
bool Session::learn_way(Channel& channel, std::optional<PathId> way) {
  return way && channel.paths.set_candidates({*way});
}

void Session::doubt(Time now, Channel& channel) {
  lose_all(now, channel);
  for (const auto& [id, other] : channels_) {
    if (other.is_datagram() && role_ == Role::kClient) learn_way(channel, other.paths.chosen());
  }
  channel.doubt(now);
  events_.push_back({SessionEventKind::kChannelDoubted, channel.id(), 0, {}});
  count_in_flight();
  if (!common_flow_ || proved_datagram_ == 0) channel.flow->on_silence(now);
}

}  // namespace mcdtp
