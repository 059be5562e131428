#include "common/core/copies.h"

#include <algorithm>
#include <utility>

namespace mcdtp {
namespace {

constexpr double kLossMemory = 500;  // packets
// A channel that delivers so much later than another costs more than a probe of the other.
constexpr Duration kMuchLater = milliseconds(20);
// What is so many times overdue is copied beyond the budget: the channel has all but stopped.
constexpr int kMuchOverdue = 3;

Duration expected_rtt(const Channel& channel) {
  return channel.capacity.expected_rtt(channel.sent.bytes_outstanding());
}

bool can_help(const Channel& channel) {
  return channel.is_datagram() && channel.steady() && !channel.blocked && channel.capacity.has_rtt();
}

bool is_worth(const SentPacket& packet) {
  return packet.state == SentPacket::State::kOutstanding && !packet.copied && !packet.requeued_early &&
         !packet.cargo.empty();
}

// Who only receives asks often whether there is anything to copy.
bool any_outstanding(const Copies::Channels& channels) {
  return std::any_of(channels.begin(), channels.end(),
                     [](const auto& entry) { return entry.second.sent.packets_outstanding() > 0; });
}

}  // namespace

void Copies::on_copied(std::uint64_t size) {
  if (!is_lone()) copied_ += size;
}

void Copies::on_report(std::size_t covered, std::size_t lost) {
  const auto total = static_cast<double>(covered + lost);
  if (total == 0) return;
  const double weight = std::min(1.0, total / kLossMemory);
  loss_ += (static_cast<double>(lost) / total - loss_) * weight;
}

std::uint64_t Copies::in_flight() const {
  std::uint64_t sum = 0;
  for (const auto& [id, channel] : channels_) {
    if (channel.is_datagram() && channel.proved()) sum += channel.sent.bytes_outstanding();
  }
  return sum;
}

Copies::Helpers Copies::helpers() const {
  Helpers two;
  const auto quicker = [](const Channel& a, const Channel* b) {
    return b == nullptr || expected_rtt(a) < expected_rtt(*b);
  };
  for (const auto& [id, channel] : channels_) {
    if (!can_help(channel)) continue;
    if (quicker(channel, two.quickest)) {
      two.second = std::exchange(two.quickest, &channel);
    } else if (quicker(channel, two.second)) {
      two.second = &channel;
    }
  }
  return two;
}

std::optional<PacketName> Copies::next(Time now, const Channel& helper) const {
  if (!any_outstanding(channels_)) return std::nullopt;
  const Helpers two = helpers();
  if (&helper != two.quickest && &helper != two.second) return std::nullopt;
  const bool lone = is_lone();
  for (const auto& [id, channel] : channels_) {
    if (channel.sent.packets_outstanding() == 0 || two.of(channel) != &helper) continue;
    const auto found = candidate(channel, helper, lone);
    if (found && found->due <= now) return found->packet;
  }
  return std::nullopt;
}

Time Copies::due() const {
  if (!any_outstanding(channels_)) return kNever;
  Time first = kNever;
  const Helpers two = helpers();
  const bool lone = is_lone();
  for (const auto& [id, channel] : channels_) {
    const Channel* helper = channel.sent.packets_outstanding() > 0 ? two.of(channel) : nullptr;
    if (helper == nullptr || !helper->flow->has_room()) continue;
    const auto found = candidate(channel, *helper, lone);
    if (found) first = std::min(first, std::max(found->due, helper->flow->ready_at()));
  }
  return first;
}

std::optional<Copies::Candidate> Copies::candidate(const Channel& channel, const Channel& helper,
                                                   bool lone) const {
  if (!channel.is_datagram() || !channel.proved()) return std::nullopt;
  const bool within = lone || copied_ <= kFree + sent_ / kShare;
  const auto late = overdue(channel, helper, within);
  const auto last = within && (lone || loss_ >= kLossy) ? tail(channel, helper) : std::nullopt;
  return last && (!late || last->due < late->due) ? last : late;
}

std::optional<Copies::Candidate> Copies::tail(const Channel& channel, const Channel& helper) const {
  if (channel.capacity.has_rtt() && expected_rtt(helper) > expected_rtt(channel) + kMuchLater)
    return std::nullopt;
  const auto& packets = channel.sent.packets();
  const auto asks = [](const SentPacket& packet) { return packet.state != SentPacket::State::kSilent; };
  const auto newest = std::find_if(packets.rbegin(), packets.rend(), asks);
  if (newest == packets.rend() || !is_worth(*newest)) return std::nullopt;
  const auto age = static_cast<PacketNumber>(newest - packets.rbegin());
  return Candidate{{channel.id(), channel.sent.next() - 1 - age}, newest->sent_at};
}

std::optional<Copies::Candidate> Copies::overdue(const Channel& channel, const Channel& helper,
                                                 bool within) const {
  const auto& packets = channel.sent.packets();
  // What is older has its verdict.
  const auto undecided =
      static_cast<std::ptrdiff_t>(channel.sent.oldest_outstanding() - channel.sent.first());
  const auto oldest = std::find_if(packets.begin() + undecided, packets.end(), is_worth);
  if (oldest == packets.end()) return std::nullopt;
  const Duration quick = std::max(expected_rtt(helper), helper.capacity.last_rtt());
  const Duration patience = 2 * quick + channel.report_interval();
  // Sooner, where the channel is known to be so late that the helper can still overtake it.
  const bool overtakes = channel.capacity.has_rtt() && channel.capacity.last_rtt() > 2 * patience;
  const Duration wait = !within ? kMuchOverdue * patience : overtakes ? Duration{} : patience;
  const auto index = static_cast<PacketNumber>(oldest - packets.begin());
  return Candidate{{channel.id(), channel.sent.first() + index}, oldest->sent_at + wait};
}

}  // namespace mcdtp
