#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "common/core/types.h"

namespace mcdtp::sim {

// What one direction of an emulated path does to packets. Sizes in bytes, rates in bit/s.
struct LinkSettings {
  double rate_bps = 100e6;
  Duration delay = milliseconds(25);
  Duration jitter{};
  // Jitter overtakes nothing: what comes behind a late packet waits for it.
  bool keeps_order = false;
  // More delay for a while, at most so much: it goes from one random value to the next in `wander_pace`. The order is kept.
  Duration wander{};
  Duration wander_pace = milliseconds(50);
  // Behind the queue nothing passes for so long at the beginning of each kStallEvery but the first; what waited there then
  // comes at once.
  Duration stall{};
  static constexpr Duration kStallEvery = seconds(10);
  std::uint64_t queue_bytes = 0;  // 0: one rate x RTT, at least 64 KiB
  double loss = 0;
  double loss_burst = 1;  // mean length of a run of losses
  double reorder = 0;     // share of packets that come `reorder_delay` late
  Duration reorder_delay = milliseconds(5);
  double duplicate = 0;
  double corrupt = 0;
  double police_bps = 0;  // 0: no policer
  double police_burst = 64 * 1024;
  std::size_t mtu = 1500;  // of an IP packet; larger ones vanish
  bool cut = false;
};

// One direction of a path, shared by all channels that cross it. Says when a packet arrives; the caller keeps the time.
class Link {
 public:
  struct Arrival {
    Time at;
    bool corrupt = false;
  };
  static constexpr std::size_t kIpOverhead = 28;

  Link(const LinkSettings& given, std::uint64_t seed)
      : settings(given), random_(seed), tokens_(given.police_burst) {}

  // When the packet arrives: not at all, once or twice.
  std::vector<Arrival> carry(Time now, std::size_t udp_payload) {
    const double bits = static_cast<double>(udp_payload + kIpOverhead) * 8;
    ++offered;
    largest_offered = std::max(largest_offered, udp_payload);
    if (settings.cut || udp_payload + kIpOverhead > settings.mtu || !police(now, bits)) return drop();
    const double waiting = to_seconds(std::max(free_at_, now) - now) * settings.rate_bps / 8;
    if (waiting + bits / 8 > static_cast<double>(queue())) return drop();
    free_at_ = std::max(free_at_, now) + from_seconds(bits / settings.rate_bps);
    // A packet lost on the wire has taken the link's time: rate x (1 - loss) is all that comes through.
    ++carried;
    if (lose()) {
      ++lost;
      return drop();
    }
    std::vector<Arrival> arrivals{{stalled(arrival_time()), chance(settings.corrupt)}};
    if (chance(settings.duplicate)) arrivals.push_back({arrivals[0].at + microseconds(10), false});
    return arrivals;
  }

  // How long a packet that came now would wait.
  Duration backlog(Time now) const { return std::max(free_at_, now) - now; }

  LinkSettings settings;
  std::uint64_t offered = 0;
  std::uint64_t dropped = 0;        // for whatever reason
  std::uint64_t carried = 0;        // took the link's time,
  std::uint64_t lost = 0;           // and of them lost on the wire
  std::size_t largest_offered = 0;  // UDP payload of a packet

 private:
  std::vector<Arrival> drop() {
    ++dropped;
    return {};
  }
  std::uint64_t queue() const {
    if (settings.queue_bytes > 0) return settings.queue_bytes;
    const double product = settings.rate_bps / 8 * 2 * to_seconds(settings.delay);
    return std::max<std::uint64_t>(64 * 1024, static_cast<std::uint64_t>(product));
  }
  bool chance(double p) { return p > 0 && std::uniform_real_distribution<>(0, 1)(random_) < p; }
  // Two states (Gilbert): runs of losses of mean length `loss_burst`, `loss` of all packets in the long run.
  bool lose() {
    if (settings.loss <= 0) return false;
    const double leave = 1 / settings.loss_burst;
    const double enter = settings.loss * leave / (1 - settings.loss);
    losing_ = losing_ ? !chance(leave) : chance(enter);
    return losing_;
  }
  bool police(Time now, double bits) {
    if (settings.police_bps <= 0) return true;
    tokens_ =
        std::min(settings.police_burst, tokens_ + settings.police_bps / 8 * to_seconds(now - policed_at_));
    policed_at_ = now;
    if (tokens_ < bits / 8) return false;
    tokens_ -= bits / 8;
    return true;
  }
  Time arrival_time() {
    Duration delay = settings.delay;
    if (settings.jitter.count() > 0) {
      delay += Duration(std::uniform_int_distribution<Duration::rep>(0, settings.jitter.count())(random_));
    }
    if (chance(settings.reorder)) delay += settings.reorder_delay;
    if (settings.wander.count() == 0 && !settings.keeps_order) return free_at_ + delay;
    return last_arrival_ = std::max(last_arrival_, free_at_ + delay + wandered());
  }
  Time stalled(Time arrival) const {
    if (arrival.time_since_epoch() < LinkSettings::kStallEvery) return arrival;
    const Duration into = arrival.time_since_epoch() % LinkSettings::kStallEvery;
    return arrival + std::max<Duration>(settings.stall - into, Duration{});
  }
  Duration wandered() {
    if (settings.wander.count() == 0) return {};
    while (free_at_ >= wander_until_) {
      wander_until_ += settings.wander_pace;
      wander_from_ = wander_to_;
      wander_to_ =
          Duration(std::uniform_int_distribution<Duration::rep>(0, settings.wander.count())(random_));
    }
    const double left = to_seconds(wander_until_ - free_at_) / to_seconds(settings.wander_pace);
    return wander_to_ + from_seconds(left * to_seconds(wander_from_ - wander_to_));
  }

  std::mt19937_64 random_;
  Time free_at_{};
  bool losing_ = false;
  double tokens_ = 0;  // the policer's
  Time policed_at_{};
  Time wander_until_{};                   // when the added delay is at wander_to_,
  Duration wander_from_{}, wander_to_{};  // from wander_from_ at one wander_pace before
  Time last_arrival_{};                   // where nothing overtakes
};

}  // namespace mcdtp::sim
