#include "common/core/scheduler.h"

#include <algorithm>

namespace mcdtp {
namespace {

// Of what all channels carry: news of who carries less is worth no waiting.
constexpr double kHardlyAny = 1.0 / 64;

bool full(const Channel& channel) { return channel.sent.bytes_outstanding() >= channel.capacity.window(); }

double load(const Channel& channel) {
  return static_cast<double>(channel.sent.bytes_outstanding()) /
         static_cast<double>(channel.capacity.window());
}

bool is_live(const Channel& channel) {
  return channel.is_datagram() && channel.steady() && channel.capacity.has_rtt();
}

Duration expected_rtt(const Channel& channel) {
  return channel.capacity.expected_rtt(channel.sent.bytes_outstanding());
}

// Where a queue stood from the channel's first packet on, its smallest RTT has that in it; but then the quickest is about as
// late now. A smaller difference than at best may as well be a queue of the quickest channel's own.
Duration later_by(const Channel& channel, const Channel& quickest) {
  const Duration at_best = channel.capacity.expected_rtt(0) - quickest.capacity.expected_rtt(0);
  const Duration now = channel.loss.rtt().smoothed() - quickest.loss.rtt().smoothed();
  return now < at_best / 4 ? now : at_best;
}

}  // namespace

bool Scheduler::may_carry(const Channel& channel) {
  return coupling_ == Coupling::kCoupled ? holds_turn(channel) : will_carry(channel);
}

bool Scheduler::will_carry(const Channel& channel) const {
  if (coupling_ == Coupling::kCoupled) return true;
  if (!channel.steady()) return !any_steady_;
  const auto is_usable = [&](const auto& entry) { return usable(entry.second); };
  if (is_late(channel) && std::any_of(channels_.begin(), channels_.end(), is_usable)) return false;
  const auto has_room = [&](const auto& entry) {
    const Channel& other = entry.second;
    return usable(other) && !full(other) && other.flow->has_room();
  };
  return !full(channel) || std::none_of(channels_.begin(), channels_.end(), has_room);
}

bool Scheduler::holds_turn(const Channel& channel) {
  const auto holder = channels_.find(turn_);
  if (holder == channels_.end() || !usable(holder->second) || (!all_full_ && full(holder->second)))
    pass_turn();
  return channel.id() == turn_;
}

// A turn is over when the next packet, as large as this one, would need another train (a GSO buffer).
void Scheduler::on_sent(std::size_t bytes) {
  run_ += bytes;
  if (run_ >= run_limit_ || run_ + bytes > kMaxDatagram) pass_turn();
}

void Scheduler::on_pause() {
  if (run_ > 0) pass_turn();
}

bool Scheduler::usable(const Channel& channel) const {
  return channel.is_datagram() && channel.steady() && !channel.blocked && !is_late(channel);
}

// By number, round and round; one that has gone silent only where all have. With no better one the turn stays.
void Scheduler::pass_turn() {
  run_ = 0;
  all_full_ = false;
  const auto next_after = [&](auto fits) {
    const auto test = [&](const auto& entry) { return fits(entry.second); };
    auto next = std::find_if(channels_.upper_bound(turn_), channels_.end(), test);
    return next != channels_.end() ? next : std::find_if(channels_.begin(), channels_.end(), test);
  };
  auto next = next_after([&](const Channel& c) { return usable(c) && !full(c); });
  if (next == channels_.end()) {
    for (auto it = channels_.begin(); it != channels_.end(); ++it) {
      if (usable(it->second) && (next == channels_.end() || load(it->second) < load(next->second))) next = it;
    }
    all_full_ = next != channels_.end();
  }
  const auto holder = channels_.find(turn_);
  if (next == channels_.end() && holder != channels_.end() && holder->second.proved() &&
      !holder->second.blocked)
    return;
  if (next == channels_.end())
    next = next_after([](const Channel& c) { return c.is_datagram() && c.proved() && !c.blocked; });
  if (next == channels_.end()) return;
  turn_ = next->first;
  // A slow channel gets its bytes in smaller trains: a long one would fill its queue.
  run_limit_ = std::min(kRunBytes, next->second.capacity.window() / (all_full_ ? 4 : 2));
}

void Scheduler::compare(Channels& channels) {
  any_steady_ = false;
  quickest_ = Duration::max();
  rate_ = 0;
  const Channel* quickest = nullptr;  // when idle
  for (const auto& [id, channel] : channels) {
    if (!is_live(channel)) continue;
    any_steady_ = true;
    quickest_ = std::min(quickest_, expected_rtt(channel));
    if (quickest == nullptr || channel.capacity.round() < quickest->capacity.round()) quickest = &channel;
    rate_ += channel.capacity.rate();
  }
  if (quickest == nullptr) return;
  report_interval_ = quickest->report_interval();
  latest_by_ = {};
  const Duration round = quickest->capacity.round();
  least_rtt_ = round / 2;
  for (auto& [id, channel] : channels) {
    if (!is_live(channel)) continue;
    const Duration later = later_by(channel, *quickest);
    const bool counts = later > std::max<Duration>(kMinDelay, round / 2);
    channel.capacity.set_later_by(counts ? later : Duration{}, round);
    if (channel.capacity.rate() > kHardlyAny * rate_)
      latest_by_ = std::max(latest_by_, channel.capacity.later_by());
  }
}

void Scheduler::make_comparable(const Channel& channel, ReportSample& sample) const {
  if (coupling_ == Coupling::kCoupled) sample.latest_by = latest_by_;
  if (weight(channel) != 1 || !is_live(channel)) sample.covered_span = {};
  if (weight(channel) == 1 || !is_live(channel)) return;
  if (sample.rtt) *sample.rtt = std::max(*sample.rtt - channel.capacity.later_by(), least_rtt_);
  sample.report_interval = report_interval_;
}

bool Scheduler::is_quick(const Channel& channel) const {
  if (!any_steady_) return true;
  return is_live(channel) && !is_much(channel.capacity.expected_rtt(0) - quickest_);
}

bool Scheduler::is_late(const Channel& channel) const {
  if (!is_live(channel) || !any_steady_) return false;
  if (streams_.has_again()) return !is_quick(channel);
  const Duration delay = expected_rtt(channel) - quickest_;
  if (!is_much(delay)) return false;
  const double rate = std::max(rate_, static_cast<double>(kInitialWindow) / to_seconds(quickest_));
  return !streams_.has_ahead(static_cast<std::uint64_t>(rate * to_seconds(delay)));
}

}  // namespace mcdtp
