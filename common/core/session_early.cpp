#include <algorithm>
#include <utility>

#include "common/core/session.h"

// Before any datagram channel is proved. Data go by UDP all the same, up to an initial window: what stands on the stream
// channels once more, for a lossy path holds it up there for long, and what has no room on them. If datagrams come through,
// that saves the round trip that a proof takes, and shows the path's rate; if not, it goes by the control link after all.
namespace mcdtp {
namespace {

// Where the round trip is shorter a proof is as soon there, and the queues may be short.
constexpr Duration kEarlyAfter = milliseconds(30);

}  // namespace

bool Session::is_early() const { return early_began_ != kNever && !early_is_over_ && !udp_decided_; }

bool Session::may_begin_early() const {
  if (early_began_ != kNever || udp_decided_ || streams_.bytes_sent() == 0) return false;
  return std::any_of(channels_.begin(), channels_.end(), [](const auto& entry) {
    return entry.second.is_datagram() && entry.second.paths.early();
  });
}

// When early data begin, or are given up: in the time since datagrams, too, would have been reported.
Time Session::early_timer() const {
  if (may_begin_early()) return started_ + kEarlyAfter;
  const Channel* link = is_early() ? control_link() : nullptr;
  if (link == nullptr || !link->loss.rtt().has_sample()) return kNever;
  return early_began_ + link->loss.rtt().smoothed() * 3 / 2;
}

void Session::run_early(Time now) {
  if (now < early_timer()) return;
  may_begin_early() ? begin_early(now) : end_early();
}

void Session::begin_early(Time now) {
  early_began_ = now;
  for (auto& [id, channel] : channels_) {
    if (channel.is_datagram() && channel.paths.early()) channel.flow->on_early(now);
    if (channel.is_datagram()) continue;
    for (SentPacket& packet : channel.sent.packets()) {
      if (packet.state != SentPacket::State::kOutstanding) continue;
      packet.copied = true;
      requeue_data(packet.cargo);
    }
  }
}

// No way by UDP was found meanwhile: what went out goes by the control link, or by whatever is found.
void Session::end_early() {
  early_is_over_ = true;
  for (auto& [id, channel] : channels_) {
    if (channel.is_datagram() && !channel.proved()) requeue_outstanding(channel);
  }
  for (auto& [id, channel] : channels_) {
    if (!channel.is_datagram()) withdraw_copied(channel);
  }
  count_in_flight();
}

// What stands on a stream channel does not go there again while that lives; by a datagram channel that is found later it
// may.
void Session::withdraw_copied(Channel& channel) {
  for (SentPacket& packet : channel.sent.packets()) {
    if (!std::exchange(packet.copied, false) || packet.state != SentPacket::State::kOutstanding) continue;
    packet.cargo.for_each_data([this](const DataRef& ref) { streams_.withdraw(ref); });
  }
}

std::uint64_t Session::early_outstanding() const {
  std::uint64_t sum = 0;
  for (const auto& [id, channel] : channels_) {
    if (channel.is_datagram() && !channel.proved()) sum += channel.sent.bytes_outstanding();
  }
  return sum;
}

bool Session::may_carry_early(const Channel& channel) const {
  if (!is_early() || !channel.paths.early() || early_outstanding() >= kInitialWindow) return false;
  if (streams_.has_again()) return true;
  const Channel* link = control_link();
  return link != nullptr && (link->blocked || link->sent.bytes_outstanding() > kStreamChannelWindow / 2);
}

// What goes a second time is not for the stream channels, which have it.
bool Session::leaves_to_early() const {
  const auto carries_more = [this](const auto& entry) {
    const Channel& channel = entry.second;
    return may_carry_early(channel) && !channel.blocked && channel.flow->has_room();
  };
  return is_early() && streams_.has_again() && std::any_of(channels_.begin(), channels_.end(), carries_more);
}

// The first datagram channel is proved. What waits on a stream channel would arrive last: it goes again. So does what went
// on other datagram channels.
void Session::requeue_all_but(const Channel& proved) {
  for (auto& [id, channel] : channels_) {
    if (&channel != &proved) requeue_outstanding(channel);
  }
}

void Session::requeue_outstanding(Channel& channel) {
  for (SentPacket& packet : channel.sent.packets()) {
    if (packet.state != SentPacket::State::kOutstanding) continue;
    // Its bytes have gone early.
    if (packet.copied && !channel.is_datagram()) {
      requeue_control(packet.cargo);
      if (packet.cargo.rest) packet.cargo.rest->control.clear();
    } else {
      requeue(packet);
    }
  }
}

// What went out before the first packet that came through has found no way: that says nothing of congestion.
void Session::lose_unheard(Time now, Channel& channel) {
  if (!channel.is_datagram()) return;
  std::uint64_t bytes = 0;
  for (SentPacket& packet : channel.sent.packets()) {
    if (packet.state == SentPacket::State::kCovered) break;
    if (!packet.undecided()) continue;
    bytes += packet.size;
    lose_packet(now, channel, packet);
  }
  channel.flow->on_lost(bytes);
}

}  // namespace mcdtp
