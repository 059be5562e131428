#include "common/core/session.h"

#include <algorithm>
#include <utility>

#include "common/core/check.h"
#include "common/core/packet_header.h"

// This file: channels, time and events. What comes in: session_receive.cpp. What goes out: session_send.cpp, before any
// datagram channel is proved: session_early.cpp, and how large: session_mtu.cpp.
namespace mcdtp {
namespace {

constexpr Duration kMinUdpPatience = seconds(1);
// Where nothing at all has come, which says nothing of UDP.
constexpr Duration kUdpPatienceInSilence = seconds(6);
// Of a stream channel that is paced: what goes at a time.
constexpr double kStreamTrain = 0.02;  // s
constexpr double kLeastTrain = 2400;   // bytes
constexpr double kMostTrain = 32 * 1024;

}  // namespace

Session::Session(Time now, SessionConfig config)
    : role_(config.role),
      memory_(std::max(config.memory, kMinMemory)),
      max_datagram_(config.max_datagram),
      wished_channels_(config.channels),
      streams_(config.role, control_, news_),
      make_congestion_(std::move(config.congestion)),
      scheduler_(channels_, streams_, config.coupling),
      started_(now),
      tries_links_(config.tries_links && config.coupling == Coupling::kCoupled),
      links_go_by_ssh_(config.links_go_by_ssh) {
  stream_pacer_.set_rate(now, config.max_stream_rate);
  // A record at a time where that is little: the next one has to wait for as long.
  stream_pacer_.set_quantum(std::clamp(config.max_stream_rate * kStreamTrain, kLeastTrain, kMostTrain));
  CHECK(wished_channels_ >= 1 && wished_channels_ <= kMaxDatagramChannels && make_congestion_);
  if (config.coupling == Coupling::kCoupled) common_flow_ = std::make_shared<Flow>(now, make_congestion_());
  udp_decided_ = !config.datagrams || config.doubts_datagrams;
  udp_judged_ = silence_judged_ = !config.datagrams;
  streams_.wish_memory(memory_);
  if (role_ == Role::kClient)
    control_.push(ExchangeFrame{wished_channels_, std::move(config.ports), memory_});
}

Channel* Session::find(ChannelId id) {
  const auto it = channels_.find(id);
  return it == channels_.end() ? nullptr : &it->second;
}

const Channel* Session::channel(ChannelId id) const { return const_cast<Session*>(this)->find(id); }

void Session::add_datagram_channel(Time now, ChannelId id, const std::vector<PathId>& candidates) {
  CHECK(id < kMaxDatagramChannels && !find(id));
  Channel& channel = channels_.try_emplace(id, id, true).first->second;
  channel.flow = common_flow_ ? common_flow_ : std::make_shared<Flow>(now, make_congestion_());
  if (!common_flow_ && wished_channels_ > 1) channel.flow->forbid_trains();
  channel.mtu.set_cap(max_datagram_);
  channel.paths.set_candidates(candidates);
  if (!candidates.empty()) channel.probe_soon(now);
}

void Session::add_stream_channel(Time now, ChannelId id) {
  CHECK(id >= kSshChannel && !find(id));
  Channel& channel = channels_.try_emplace(id, id, false).first->second;
  // A TCP connection has to prove each direction before it is the control link.
  if (channel.is_tcp()) channel.want_ping();
  if (links_go_by_ssh_) channel.go_among_ssh();
  channel.begin(now);
}

void Session::remove_channel(Time now, ChannelId id) {
  Channel* channel = find(id);
  if (channel == nullptr) return;
  lose_all(now, *channel);
  channels_.erase(id);
  count_in_flight();
}

void Session::set_blocked(ChannelId id, bool blocked) {
  if (Channel* channel = find(id)) channel->blocked = blocked;
}

void Session::set_kernel_drops(ChannelId id, std::uint64_t total) {
  Channel* channel = find(id);
  if (channel == nullptr) return;
  statistics_.kernel_drops += total - channel->receipts.kernel_drops();
  channel->receipts.on_kernel_drops(total);
}

// The newest TCP connection that has proved itself and answers, else the SSH channel.
Channel* Session::control_link() {
  for (auto it = channels_.rbegin(); it != channels_.rend() && it->first >= kSshChannel; ++it) {
    if (it->first == kSshChannel || it->second.is_link()) return &it->second;
  }
  return nullptr;
}

// Of data, where no datagram channel is proved: all such TCP connections, or the SSH channel. The former also where datagrams
// are of little use, and the control link where it is tried or helps.
bool Session::is_carrier(const Channel& channel) const {
  if (datagrams_serve()) return link_trial_.carries() && channel.is_link() && is_control_link(channel);
  return channel.is_link() || (proved_datagram_ == 0 && is_control_link(channel));
}

bool Session::links_help() const {
  const Channel* link = control_link();
  return datagrams_.are_poor() && link != nullptr && link->is_link();
}

std::size_t Session::wished_links() const {
  // The server leaves room for others instead of those whose end it has not heard of.
  if (links_go_by_ssh_) return role_ == Role::kClient ? wished_channels_ - 1 : 2 * wished_channels_;
  const bool by_udp = proved_datagram_ > 0 && (udp_heard_ || !silence_judged_);
  const bool may_go_by_udp = !udp_decided_ && role_ == Role::kClient;
  return by_udp || may_go_by_udp ? 1 : wished_channels_;
}

void Session::close_above(Time now, std::uint64_t count) {
  while (true) {
    const auto it = channels_.lower_bound(static_cast<ChannelId>(count));
    if (it == channels_.end() || !it->second.is_datagram()) return;
    remove_channel(now, it->first);
  }
}

bool Session::all_reported() const {
  if (!control_.empty() || streams_.buffered() > 0) return false;
  return std::all_of(channels_.begin(), channels_.end(), [](const auto& entry) {
    const Channel& channel = entry.second;
    return channel.sent.packets_outstanding() == 0 || (channel.is_datagram() && !channel.proved());
  });
}

std::optional<SessionEvent> Session::poll_event() {
  if (events_.empty()) return std::nullopt;
  SessionEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

std::optional<StreamNews> Session::poll_stream_news() {
  if (news_.empty()) return std::nullopt;
  StreamNews news = std::move(news_.front());
  news_.pop_front();
  return news;
}

// ---- time ----

void Session::on_timeout(Time now) {
  if (peer_failed_) return;
  seek_ways(now);
  const Time reported = any_reported();
  for (auto& [id, channel] : channels_) {
    if (channel.loss.loss_timer() <= now) {
      ReportSample sample;
      lose(now, now, channel, sample);
      feed_congestion(now, channel, sample);
      leave_small_path(now, channel);
    }
    if (channel.on_timeout(now)) probe_timed_out(now, channel);
    if (channel.silence_timer(reported) <= now) pass_over(now, channel);
  }
  keep_ssh_alive(now);
  run_early(now);
  decide_udp(now);
}

// As long as bytes move the SSH connection says something, whatever way they go: for sshd's ChannelTimeout and for a NAT
// it would else be idle. Where none move it is as silent as ssh's own.
void Session::keep_ssh_alive(Time now) {
  Channel* ssh = find(kSshChannel);
  if (ssh == nullptr || streams_.bytes_sent() == sent_when_ssh_spoke_ || ssh->ping_due()) return;
  ssh->keep_alive(now);
  if (ssh->ping_due()) sent_when_ssh_spoke_ = streams_.bytes_sent();
}

bool Session::has_only_ssh() const {
  const Channel* link = control_link();
  return proved_datagram_ == 0 && udp_decided_ && link != nullptr && link->id() == kSshChannel;
}

// When what is out on the SSH connection has been so for longer than is usual there.
Time Session::ssh_stuck_at() const {
  const Channel* ssh = channel(kSshChannel);
  if (ssh == nullptr || ssh->sent.packets_outstanding() == 0) return kNever;
  return ssh->loss.waiting_since() +
         std::max<Duration>(4 * ssh->loss.rtt().smoothed(), Channel::kLinkPatienceAmongOthers);
}

Time Session::seek_timer() const {
  return has_only_ssh() ? std::max(ssh_stuck_at(), sought_ + Channel::kProbeWithReason) : kNever;
}

// Ways that are gone are only tried now and then, but at once when there is something to send after a rest, and again as long
// as it is stuck: the network may be back. One channel asks, and the others follow it.
void Session::seek_ways(Time now) {
  const bool had_data = std::exchange(had_data_, streams_.has_data());
  const bool begins = had_data_ && !had_data && has_only_ssh();
  if (sought_ + Channel::kProbeWithReason > now || (!begins && seek_timer() > now)) return;
  sought_ = now;
  Channel& first = channels_.begin()->second;
  if (first.is_datagram() && udp_heard_) first.hurry_probe(now);
  events_.push_back({SessionEventKind::kWaySought, 0, 0, {}});
}

void Session::probe_timed_out(Time now, Channel& channel) {
  if (channel.loss.probes_unanswered() >= Channel::kDoubtAfterProbes) return doubt(now, channel);
  // The oldest packets are feared lost: their bytes go again, on whichever channel comes first. Where others are
  // heard of this one is dead, as far as anyone knows, and all that it holds would come late.
  count_in_flight();
  std::size_t feared = scheduler_.any_steady() ? channel.sent.packets().size() : 2;
  for (SentPacket& packet : channel.sent.packets()) {
    if (packet.state != SentPacket::State::kOutstanding || packet.requeued_early || packet.cargo.empty())
      continue;
    requeue(packet);
    if (--feared == 0) break;
  }
}

// The others of which nothing was heard meanwhile are as likely dead, and each would take its own time to show it, if it had
// nothing to carry: they are asked.
void Session::pass_over(Time now, Channel& link) {
  const Time since = link.loss.waiting_since();
  fall_silent(now, link);
  for (auto& [id, other] : channels_) {
    if (!other.is_link() || other.last_reported() > since) continue;
    fall_silent(now, other);
    other.want_ping();
  }
}

// A way was found, or is back. What has stood on the SSH connection for long goes by it: that one's TCP may wait for far
// longer before it sends anything again.
void Session::relieve_ssh(Time now) {
  if (ssh_stuck_at() >= now) return;
  Channel& ssh = *find(kSshChannel);
  // Also what went early: that may not have come either, and end_early() is not to leave it to this connection.
  for (SentPacket& packet : ssh.sent.packets()) packet.copied = false;
  requeue_outstanding(ssh);
}

// Its packets are not lost, but whoever waits for them would wait for ever.
void Session::fall_silent(Time now, Channel& link) {
  link.on_silence();
  lose_all(now, link);
  events_.push_back({SessionEventKind::kChannelDoubted, link.id(), 0, {}});
}

// When anything was last reported, but for the SSH channel where it is the last resort.
Time Session::any_reported() const {
  Time last{};
  for (const auto& [id, channel] : channels_) {
    if (id != kSshChannel || links_go_by_ssh_) last = std::max(last, channel.last_reported());
  }
  return last;
}

Duration Session::udp_patience() const {
  const Channel* ssh = channel(kSshChannel);
  if (ssh == nullptr || !ssh->loss.rtt().has_sample()) return kUdpPatienceInSilence;
  return std::max<Duration>(kMinUdpPatience, 4 * ssh->loss.rtt().min());
}

Time Session::udp_deadline() const {
  if (!udp_judged_) return started_ + udp_patience();
  return silence_judged_ ? kNever : started_ + 2 * udp_patience();
}

void Session::decide_udp(Time now) {
  if (now < udp_deadline()) return;
  if (udp_judged_) return judge_silence();
  udp_judged_ = true;
  give_udp_up();
  events_.push_back({SessionEventKind::kUdpBlocked, 0, 0, {}});
}

void Session::give_udp_up() {
  if (!std::exchange(udp_decided_, true)) end_early();
}

// Whoever gets datagrams sends reports on the same channel: where none come, the way back is blocked.
void Session::judge_silence() {
  silence_judged_ = true;
  if (proved_datagram_ > 0 && !udp_heard_) events_.push_back({SessionEventKind::kUdpOneWay, 0, 0, {}});
}

bool Session::may_report(const Channel& channel) const {
  if (channel.blocked) return false;
  const auto path = channel.paths.reply();
  return !channel.is_datagram() || (path && channel.paths.allowance(*path) >= kMinReply);
}

Time Session::report_timer() const {
  const Channel* link = control_link();
  const bool link_open = link != nullptr && !link->blocked;
  Time next = kNever;
  for (const auto& [id, channel] : channels_) {
    if (may_report(channel)) next = std::min(next, channel.receipts.due());
    if (link_open && channel.is_datagram()) next = std::min(next, channel.receipts.link_due());
  }
  return next;
}

Time Session::data_timer() const {
  Time next = kNever;
  if (!streams_.has_data()) return next;
  for (const auto& [id, channel] : channels_) {
    if (!channel.is_datagram() || channel.blocked || !channel.flow->has_room()) continue;
    if (!channel.proved() && !may_carry_early(channel)) continue;
    if (scheduler_.will_carry(channel)) next = std::min(next, channel.flow->ready_at());
  }
  const bool paused = std::any_of(channels_.begin(), channels_.end(), [this](const auto& entry) {
    return entry.second.paused && !entry.second.blocked && is_carrier(entry.second);
  });
  return paused ? std::min(next, stream_pacer_.ready_at()) : next;
}

Time Session::next_timeout() const {
  if (peer_failed_) return kNever;
  Time next = std::min(report_timer(), data_timer());
  const Time reported = any_reported();
  for (const auto& [id, channel] : channels_)
    next = std::min({next, channel.next_timeout(), channel.silence_timer(reported)});
  if (has_nothing_new()) next = std::min(next, copies_.due());
  return std::min({next, udp_deadline(), early_timer(), seek_timer()});
}

}  // namespace mcdtp
