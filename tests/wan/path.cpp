#include "tests/wan/path.h"

#include <algorithm>

namespace mcdtp::wan {
namespace {

constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kSmallestQueue = 64 * 1024;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t direction) : state_(mix(seed + 1) ^ mix(~direction)) {}

std::uint64_t Random::next() { return mix(state_ += kGoldenGamma); }

double Random::share() { return static_cast<double>(next() >> 11) * 0x1p-53; }

Path::Path(const PathSettings& settings, Random random, Time start)
    : settings_(settings),
      random_(random),
      wander_(random.next(), 0),
      start_(start),
      wander_until_(start),
      last_departure_(start),
      last_arrival_(start),
      tokens_(settings.policer ? settings.policer->burst_bytes : 0),
      tokens_at_(start) {}

Fate Path::admit(Time now, const PacketShape& packet, bool cut_by_hand, bool udp_blocked_by_hand) {
  Luck luck = draw();
  bool lost = is_lost(luck.loss);
  Fate fate;
  fate.cause = judge(now, packet, lost, cut_by_hand, udp_blocked_by_hand);
  if (fate.cause != Cause::kPassed) return fate;
  fate.duplicated = luck.duplicate < settings_.duplicate;
  fate.reordered = luck.reorder < settings_.reorder;
  fate.due = arrival(luck, fate.reordered);
  std::size_t payload_bits = 8 * (packet.size - packet.ip_header_size);
  if (payload_bits > 0 && luck.corrupt < settings_.corrupt) fate.flipped_bit = luck.bit % payload_bits;
  return fate;
}

Path::Luck Path::draw() {
  Luck luck{};
  luck.loss = random_.share();
  luck.corrupt = random_.share();
  luck.duplicate = random_.share();
  luck.reorder = random_.share();
  luck.jitter = random_.share();
  luck.bit = random_.next();
  return luck;
}

Cause Path::judge(Time now, const PacketShape& packet, bool lost, bool cut_by_hand,
                  bool udp_blocked_by_hand) {
  if (packet.unmapped) return Cause::kUnmapped;
  if (settings_.mtu && packet.size > *settings_.mtu) return Cause::kTooBig;
  if ((settings_.block_udp || udp_blocked_by_hand) && packet.udp) return Cause::kUdpBlocked;
  if (cut_by_hand || is_cut(now)) return Cause::kCut;
  if ((settings_.polices_all || packet.udp) && !police(now, packet.size)) return Cause::kPoliced;
  if (!enqueue(now, packet.size)) return Cause::kQueueFull;
  return lost ? Cause::kLost : Cause::kPassed;
}

// Without a burst length each packet is lost by itself. With one it is Gilbert's model: a state that loses
// every packet and is left with probability 1/burst, entered so that the share of losses is the one asked
// for.
bool Path::is_lost(double luck) {
  double share = settings_.loss;
  if (!settings_.loss_burst || share >= 1) return luck < share;
  double leave = 1 / std::max(1.0, *settings_.loss_burst);
  double enter = std::min(1.0, leave * share / (1 - share));
  in_loss_burst_ = in_loss_burst_ ? luck >= leave : luck < enter;
  return in_loss_burst_;
}

bool Path::is_cut(Time now) const {
  Duration age = now - start_;
  return std::any_of(settings_.cuts.begin(), settings_.cuts.end(),
                     [age](const Cut& cut) { return cut.from <= age && age < cut.to; });
}

bool Path::police(Time now, std::size_t size) {
  if (!settings_.policer) return true;
  double earned = to_seconds(now - tokens_at_) * settings_.policer->bits_per_second / 8;
  tokens_ = std::min(tokens_ + earned, settings_.policer->burst_bytes);
  tokens_at_ = now;
  if (tokens_ < static_cast<double>(size)) return false;
  tokens_ -= static_cast<double>(size);
  return true;
}

bool Path::enqueue(Time now, std::size_t size) {
  while (!waiting_.empty() && waiting_.front().departure <= now) {
    waiting_bytes_ -= waiting_.front().size;
    waiting_.pop_front();
  }
  last_departure_ = std::max(last_departure_, now);
  std::optional<double> bits_per_second = rate(now);
  if (!bits_per_second) return true;
  if (waiting_bytes_ + size > queue_limit(*bits_per_second)) return false;
  last_departure_ += from_seconds(8.0 * static_cast<double>(size) / *bits_per_second);
  waiting_.push_back({last_departure_, size});
  waiting_bytes_ += size;
  return true;
}

Time Path::arrival(const Luck& luck, bool reordered) {
  Time due = last_departure_ + settings_.delay + from_seconds(luck.jitter * to_seconds(settings_.jitter)) +
             wandered(last_departure_);
  if (reordered) return due + settings_.reorder_delay;
  last_arrival_ = std::max(last_arrival_, due);
  return last_arrival_;
}

Duration Path::wandered(Time at) {
  if (settings_.wander.count() == 0) return {};
  while (at >= wander_until_) {
    wander_until_ += kWanderPace;
    wander_from_ = wander_to_;
    wander_to_ = wander_.share();
  }
  const double left = to_seconds(wander_until_ - at) / to_seconds(kWanderPace);
  return from_seconds((wander_to_ + left * (wander_from_ - wander_to_)) * to_seconds(settings_.wander));
}

std::optional<double> Path::rate(Time now) const {
  std::optional<double> newest;
  for (const RateStep& step : settings_.rates)
    if (start_ + step.at <= now) newest = step.bits_per_second;
  return newest;
}

std::uint64_t Path::queue_limit(double bits_per_second) const {
  if (settings_.queue_bytes) return *settings_.queue_bytes;
  double product = bits_per_second / 8 * 2 * to_seconds(settings_.delay);
  return std::max(kSmallestQueue, static_cast<std::uint64_t>(product));
}

}  // namespace mcdtp::wan
