#include "tests/sim/measure.h"

#include "tests/sim/matrix.h"

namespace mcdtp::sim {
namespace {

constexpr double kPayload = 1200 - kSealOverhead - 8;
constexpr Duration kSampleEvery = milliseconds(10);

// Looks at the queue again and again.
struct QueueWatch {
  void look(World& world, Duration from) {
    const double waiting = to_seconds(world.up(0).backlog(world.now())) * world.up(0).settings.rate_bps / 8;
    if (world.now().time_since_epoch() >= from) sum += waiting, ++looks;
    world.at(world.now().time_since_epoch() + kSampleEvery, [this, &world, from] { look(world, from); });
  }
  double sum = 0;  // bytes
  double looks = 0;
};

}  // namespace

LinkSettings link_of(const Path& path) {
  LinkSettings link;
  link.rate_bps = path.mbps * 1e6;
  link.delay = from_seconds(path.delay_ms / 1e3);
  link.jitter = from_seconds(path.jitter_ms / 1e3);
  link.wander = from_seconds(path.wander_ms / 1e3);
  link.wander_pace = from_seconds(path.wander_pace_ms / 1e3);
  link.stall = from_seconds(path.stall_ms / 1e3);
  link.loss = path.loss;
  link.loss_burst = path.loss_burst;
  link.police_bps = path.police_mbps * 1e6;
  const double product = link.rate_bps / 8 * 2 * to_seconds(link.delay);
  link.queue_bytes = std::max(path.least_queue, static_cast<std::uint64_t>(path.queue * product));
  return link;
}

WorldSettings world_of(const Path& path) {
  WorldSettings settings;
  settings.up = settings.down = link_of(path);
  settings.channels = path.channels;
  settings.memory = path.memory;
  settings.stalls = {from_seconds(path.host_stall_ms / 1e3), from_seconds(path.host_between_ms / 1e3)};
  return settings;
}

double limit_of(const Path& path) {
  const double policed = path.police_mbps > 0 ? path.police_mbps / path.mbps : 1;
  return World::limit(link_of(path)) * std::min(1.0, policed);
}

// What a transfer has had of its link by now.
struct Passed {
  explicit Passed(World& world)
      : received(static_cast<double>(world.server.received(kStdio))),
        carried(static_cast<double>(world.up(0).carried)),
        lost(static_cast<double>(world.up(0).lost)) {}

  // Of what the link was sent, what it has lost by chance: not quite what it loses in the long run.
  static double loss(const Passed& before, const Passed& now) {
    return now.carried > before.carried ? (now.lost - before.lost) / (now.carried - before.carried) : 0;
  }
  double received;       // bytes of the stream
  double carried, lost;  // packets
};

// Of what is to be had of the path, beside its own luck.
double share_of(const Path& path, const Passed& before, const Passed& now, Duration took) {
  const double limit = limit_of(path) * (1 - Passed::loss(before, now)) / (1 - path.loss);
  return (now.received - before.received) / to_seconds(took) / limit;
}

Measured measure(const Path& path, Duration duration, const std::string& congestion) {
  WorldSettings settings = world_of(path);
  settings.congestion = congestion;
  World world(settings);
  const Duration start = matrix_start(path);
  QueueWatch queue;
  const auto never = [] { return false; };
  world.client.write(kStdio, std::uint64_t{1} << 44);
  queue.look(world, start);
  const Passed at_first(world);
  world.run_until(never, start);
  const Passed after_start(world);
  world.run_until(never, duration);
  const Passed at_last(world);
  Measured result;
  result.whole = share_of(path, at_first, at_last, duration);
  result.later = share_of(path, after_start, at_last, duration - start);
  result.queue = queue.sum / queue.looks / static_cast<double>(link_of(path).queue_bytes);
  world.client.finish_early(kStdio);
  const bool ended = world.run_until([&] { return world.server.ended(kStdio); }, duration + seconds(60));
  const Passed all(world);
  const double needed = all.received / kPayload / (1 - Passed::loss(at_first, all));
  const SessionStatistics& statistics = world.client.session().statistics();
  result.sent = statistics.packets_sent;
  result.lost = statistics.packets_lost;
  result.spurious = statistics.spurious_losses;
  result.excess = static_cast<double>(statistics.bytes_sent) / 1200 / needed - 1;
  result.intact = ended && world.server.intact();
  return result;
}

double Shares::fairness() const {
  double sum = 0, squares = 0;
  for (const double share : of) sum += share, squares += share * share;
  return squares > 0 ? sum * sum / (static_cast<double>(of.size()) * squares) : 0;
}

Shares share_link(const Path& path, const std::vector<Rival>& rivals, Duration from, Duration until) {
  std::vector<std::unique_ptr<World>> worlds;
  std::vector<World*> all;
  WorldSettings settings = world_of(path);
  settings.shared_up = std::make_shared<Link>(settings.up, scenario_seed());
  settings.shared_down = std::make_shared<Link>(settings.down, scenario_seed() + 1000);
  for (const Rival& rival : rivals) {
    settings.congestion = rival.congestion;
    settings.access_delay = from_seconds(rival.access_ms / 1e3);
    settings.begins = rival.begins;
    World* world = worlds.emplace_back(std::make_unique<World>(settings)).get();
    all.push_back(world);
    world->at(rival.begins, [world] { world->client.write(kStdio, std::uint64_t{1} << 44); });
  }
  QueueWatch queue;
  queue.look(*all.front(), from);
  run_together(all, from);
  std::vector<std::uint64_t> before;
  for (World* world : all) before.push_back(world->server.received(kStdio));
  run_together(all, until);
  Shares shares;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto got = static_cast<double>(all[i]->server.received(kStdio) - before[i]);
    shares.of.push_back(got / to_seconds(until - from) / limit_of(path));
  }
  shares.queue = queue.sum / queue.looks / static_cast<double>(link_of(path).queue_bytes);
  return shares;
}

}  // namespace mcdtp::sim
