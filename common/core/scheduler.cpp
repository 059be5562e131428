#include "common/core/scheduler.h"

#include <algorithm>

namespace mcdtp {

bool Scheduler::may_carry(const Channel& channel) {
  if (coupling_ == Coupling::kCoupled) return holds_turn(channel);
  const auto is_steady = [](const auto& entry) {
    return entry.second.is_datagram() && entry.second.steady();
  };
  return channel.steady() || std::none_of(channels_.begin(), channels_.end(), is_steady);
}

bool Scheduler::holds_turn(const Channel& channel) {
  const auto holder = channels_.find(turn_);
  const bool lost = holder == channels_.end() || !holder->second.proved() || holder->second.blocked ||
                    !holder->second.steady();
  if (lost) pass_turn();
  return channel.id() == turn_;
}

void Scheduler::on_sent(std::size_t bytes) {
  run_ += bytes;
  if (run_ >= kRunBytes) pass_turn();
}

void Scheduler::on_pause() {
  if (run_ > 0) pass_turn();
}

// The next proved channel that takes packets, by number, round and round; one that has gone silent only where
// all have. With no better one the turn stays.
void Scheduler::pass_turn() {
  run_ = 0;
  const auto next_after = [&](auto usable) {
    const auto fits = [&](const auto& entry) {
      return entry.second.is_datagram() && !entry.second.blocked && usable(entry.second);
    };
    auto next = std::find_if(channels_.upper_bound(turn_), channels_.end(), fits);
    return next != channels_.end() ? next : std::find_if(channels_.begin(), channels_.end(), fits);
  };
  const auto holder = channels_.find(turn_);
  auto next = next_after([](const Channel& c) { return c.steady(); });
  if (next == channels_.end() && holder != channels_.end() && holder->second.proved() &&
      !holder->second.blocked)
    return;
  if (next == channels_.end()) next = next_after([](const Channel& c) { return c.proved(); });
  if (next != channels_.end()) turn_ = next->first;
}

}  // namespace mcdtp
