#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tests/sim/world.h"

// Worlds made at random: any links and hosts, streams of all kinds both ways, and for some twenty seconds any trouble
// that a network can make. Once it is over all that was sent arrives, nothing is kept, and a minute of rest is quiet.
namespace mcdtp::sim {
namespace {

constexpr int kWorlds = 64;
constexpr Duration kTrouble = seconds(20);
constexpr Duration kStandstill = seconds(100);  // of a connection: what it carries comes that much later
constexpr Duration kPatience = seconds(90);     // once it is over, beside the time that the bytes need

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  bool chance(double p) { return between(0, 1) < p; }
  double between(double low, double high) { return std::uniform_real_distribution<>(low, high)(random_); }
  // As likely between 1 and 10 as between 10 and 100.
  double scale(double low, double high) { return std::exp(between(std::log(low), std::log(high))); }
  std::uint64_t size(double low, double high) { return static_cast<std::uint64_t>(scale(low, high)); }
  Duration time(Duration low, Duration high) {
    return Duration(std::uniform_int_distribution<Duration::rep>(low.count(), high.count())(random_));
  }
  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }
  template <typename T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + below(list.size()));
  }

 private:
  std::mt19937_64 random_;
};

LinkSettings any_link(Dice& dice) {
  LinkSettings link;
  link.rate_bps = dice.scale(1e6, 200e6);
  link.delay = from_seconds(dice.scale(0.0001, 0.3));
  if (dice.chance(0.2)) link.jitter = dice.time(Duration{}, milliseconds(30));
  if (dice.chance(0.2)) link.wander = dice.time(Duration{}, milliseconds(50));
  if (dice.chance(0.1)) link.stall = dice.time(Duration{}, milliseconds(500));
  if (dice.chance(0.3)) link.queue_bytes = dice.size(10'000, 4e6);
  if (dice.chance(0.6)) link.loss = dice.scale(0.001, 0.2);
  if (dice.chance(0.3)) link.loss_burst = dice.scale(1, 20);
  if (dice.chance(0.2)) link.reorder = dice.scale(0.001, 0.3);
  if (dice.chance(0.2)) link.duplicate = dice.scale(0.001, 0.3);
  if (dice.chance(0.2)) link.corrupt = dice.scale(0.001, 0.1);
  if (dice.chance(0.1)) link.police_bps = link.rate_bps * dice.between(0.1, 1);
  if (dice.chance(0.2)) link.mtu = 1228 + dice.below(7772);
  return link;
}

void set_up_ends(Dice& dice, WorldSettings& settings) {
  settings.channels = 1 + static_cast<unsigned>(dice.below(8));
  if (dice.chance(0.2)) settings.server_channels = 1 + static_cast<unsigned>(dice.below(8));
  settings.interface_mtu = dice.one_of<std::size_t>({1228, 1500, 9000});
  settings.congestion = dice.one_of({"auto", "auto", "auto", "auto", "daimd", "cubic", "fixed", "none"});
  if (settings.congestion == "fixed") settings.fixed_rate_bps = dice.size(1e6, 200e6);
  if (dice.chance(0.2)) settings.pacing = Pacing::kEven;
  if (dice.chance(0.2)) settings.coupling = Coupling::kNone;
  if (dice.chance(0.5)) settings.memory = dice.size(kMinMemory, kUntoldMemory);
  if (dice.chance(0.2)) settings.server_memory = dice.size(kMinMemory, kUntoldMemory);
  if (dice.chance(0.2)) settings.stalls.most = dice.time(Duration{}, milliseconds(300));
  settings.begins = dice.time(Duration{}, seconds(1));
}

void set_up_ways(Dice& dice, WorldSettings& settings) {
  settings.ssh_rate_bps = dice.scale(500e3, 50e6);
  settings.client_doubts_udp = dice.chance(0.2);
  settings.server_knows_client = dice.chance(0.7);
  settings.firewall = dice.chance(0.2);
  settings.client_tells_ports = settings.firewall && dice.chance(0.7);
  settings.tries_links = dice.chance(0.5);
  settings.links_go_by_ssh = dice.chance(0.2);
  if (dice.chance(0.2)) settings.nat_forgets = dice.time(seconds(2), seconds(60));
}

WorldSettings any_settings(Dice& dice) {
  WorldSettings settings;
  settings.up = any_link(dice);
  settings.down = dice.chance(0.5) ? settings.up : any_link(dice);
  set_up_ends(dice, settings);
  set_up_ways(dice, settings);
  for (ChannelId id = 0; id < settings.channels; ++id) {
    if (dice.chance(0.1)) settings.own_up[id] = settings.own_down[id] = any_link(dice);
  }
  return settings;
}

void mend(LinkSettings& link) {
  link.loss = std::min(link.loss, 0.01);
  link.corrupt = std::min(link.corrupt, 0.01);
  link.police_bps = 0;
}

// Of all links, in the order of each_link().
std::vector<LinkSettings> links_of(World& world) {
  std::vector<LinkSettings> links;
  world.each_link([&links](LinkSettings& link) { links.push_back(link); });
  return links;
}

// All as it was, but for what is lost for ever where nothing is mended.
void heal(World& world, const std::vector<LinkSettings>& links) {
  std::size_t i = 0;
  world.each_link([&](LinkSettings& link) { link = links.at(i++); });
  world.each_link(mend);
}

// Users of both ends: stdio, stderr and forwarded connections, with readers that pause.
class Users {
 public:
  Users(World& world, Dice& dice) : world_(world), dice_(dice) {
    use(world.client, kStdio);
    use(world.server, kStdio);
    use(world.server, kStderr);
    for (Host* host : {&world.client, &world.server}) host->on_opened = answer(*host);
    for (std::size_t count = dice.below(30); count > 0; --count) connect(some_host());
    for (std::size_t count = dice.below(6); count > 0; --count) pause(some_host());
  }

  bool all_ended() const {
    return world_.client.session().streams().count() == 0 && world_.server.session().streams().count() == 0;
  }
  // What was given up by nobody has come whole.
  void expect_whole() const {
    for (const auto& [id, size] : client_sent_) expect_received(world_.server, id, size);
    for (const auto& [id, size] : server_sent_) expect_received(world_.client, id, size);
  }
  std::uint64_t bytes() const { return bytes_; }
  void wake_readers() {
    for (Host* host : {&world_.client, &world_.server}) {
      for (const StreamId id : {kStdio, kStderr}) host->pause_reading(id, false);
    }
  }

 private:
  using Sent = std::map<StreamId, std::uint64_t>;

  Host& some_host() { return dice_.chance(0.5) ? world_.client : world_.server; }
  Sent& sent_by(Host& host) { return &host == &world_.client ? client_sent_ : server_sent_; }
  Duration some_time() { return world_.now().time_since_epoch() + dice_.time(Duration{}, kTrouble / 2); }
  std::uint64_t some_size() {
    const std::uint64_t size = dice_.chance(0.1) ? 0 : dice_.size(1, 4e6);
    bytes_ += size;
    return size;
  }

  // Writes now and then, and ends.
  void use(Host& host, StreamId id) {
    std::uint64_t& total = sent_by(host)[id];
    host.write(id, 0);  // so that it is not taken for one that has nothing to say
    Duration last{};
    for (std::size_t writes = dice_.below(5); writes > 0; --writes) {
      const std::uint64_t size = some_size();
      total += size;
      const Duration when = some_time();
      last = std::max(last, when);
      world_.at(when, [&host, id, size] { host.write(id, size); });
    }
    world_.at(std::max(last, some_time()), [&host, id] { host.finish(id); });
  }

  void connect(Host& host) {
    world_.at(some_time(), [this, &host] {
      if (!host.session().streams().can_open()) return;
      const StreamId id = host.open("somewhere");
      if (dice_.chance(0.7)) return use(host, id);
      sent_by(host)[id] = some_size();
      host.write(id, sent_by(host)[id]);
      world_.at(some_time(), [this, &host, id] { give_up(host, id); });
    });
  }
  void give_up(Host& host, StreamId id) {
    given_up_.insert(id);
    host.reset(id);
    host.session().streams().release(id);
    host.wake();
  }
  std::function<void(StreamId, const std::string&)> answer(Host& host) {
    return [this, &host](StreamId id, const std::string&) {
      host.session().streams().reached(id);
      if (dice_.chance(0.8)) return use(host, id);
      world_.at(some_time(), [this, &host, id] { give_up(host, id); });
    };
  }
  void pause(Host& host) {
    const StreamId id = dice_.chance(0.7) ? kStdio : kStderr;
    world_.at(some_time(), [&host, id] { host.pause_reading(id, true); });
    world_.at(some_time(), [&host, id] { host.pause_reading(id, false); });
  }

  void expect_received(const Host& host, StreamId id, std::uint64_t size) const {
    if (given_up_.contains(id)) {
      EXPECT_LE(host.received(id), size) << id;
    } else {
      EXPECT_EQ(host.received(id), size) << id;
    }
  }

  World& world_;
  Dice& dice_;
  Sent client_sent_, server_sent_;
  std::set<StreamId> given_up_;
  std::uint64_t bytes_ = 0;
};

// What happens to the network, each for a while.
class Troubles {
 public:
  Troubles(World& world, Dice& dice, unsigned channels) : world_(world), dice_(dice), channels_(channels) {
    for (std::size_t count = dice.below(12); count > 0; --count) some_trouble();
    for (std::size_t links = dice.below(4); links > 0; --links) link_comes_and_goes();
  }

 private:
  using Change = std::function<void(LinkSettings&)>;

  void some_trouble() {
    const Duration begin = dice_.time(Duration{}, kTrouble);
    const Duration end = std::min<Duration>(kTrouble, begin + from_seconds(dice_.scale(0.05, 15)));
    switch (dice_.below(6)) {
      case 0: return world_.at(begin, [this, end] { world_.stall_pipes(end - passed()); });
      case 1: return world_.at(begin, [this] { ++world_.client.address; });
      case 2: return block(begin, end, static_cast<ChannelId>(dice_.below(channels_)));
      case 3: return block(begin, end, kSshChannel);
      default: return change_links(begin, end, some_change());
    }
  }
  Duration passed() const { return world_.now().time_since_epoch(); }

  Change some_change() {
    switch (dice_.below(8)) {
      case 0: return [loss = dice_.between(0.2, 1)](LinkSettings& link) { link.loss = loss; };
      case 1: return [times = dice_.scale(0.05, 20)](LinkSettings& link) { link.rate_bps *= times; };
      case 2: return [to = dice_.scale(0.0001, 0.5)](LinkSettings& link) { link.delay = from_seconds(to); };
      case 3: return [share = dice_.between(0, 1)](LinkSettings& link) { link.corrupt = share; };
      case 4: return [share = dice_.between(0, 1)](LinkSettings& link) { link.duplicate = share; };
      case 5: return [mtu = 1228 + dice_.below(400)](LinkSettings& link) { link.mtu = mtu; };
      default: return [](LinkSettings& link) { link.cut = true; };
    }
  }

  void change_links(Duration begin, Duration end, const Change& change) {
    const auto pick = some_links();
    auto before = std::make_shared<std::vector<LinkSettings>>();
    world_.at(begin, [pick, before, change] {
      pick([&](LinkSettings& link) {
        before->push_back(link);
        change(link);
      });
    });
    world_.at(end, [pick, before] {
      std::size_t i = 0;
      pick([&](LinkSettings& link) { link = before->at(i++); });
    });
  }
  std::function<void(const Change&)> some_links() {
    const auto id = static_cast<ChannelId>(dice_.below(channels_));
    switch (dice_.below(4)) {
      case 0: return [this](const Change& change) { world_.each_up(change); };
      case 1: return [this](const Change& change) { world_.each_down(change); };
      case 2: return [this, id](const Change& change) { change(world_.up(id).settings); };
      default: return [this](const Change& change) { world_.each_link(change); };
    }
  }

  void block(Duration begin, Duration end, ChannelId id) {
    Host& host = dice_.chance(0.5) ? world_.client : world_.server;
    const auto set = [&host, id](bool blocked) {
      if (host.session().channel(id) == nullptr) return;
      host.session().set_blocked(id, blocked);
      host.wake();
    };
    world_.at(begin, [set] { set(true); });
    world_.at(end, [set] { set(false); });
  }

  void link_comes_and_goes() {
    const ChannelId id = next_link_++;
    const Duration begin = dice_.time(Duration{}, kTrouble);
    world_.at(begin, [this, id] { world_.connect_tcp(id); });
    if (dice_.chance(0.3))
      world_.at(dice_.time(begin, kTrouble), [this, id] { world_.stall_pipe(id, kStandstill); });
    if (dice_.chance(0.5)) world_.at(dice_.time(begin, kTrouble), [this, id] { world_.end_tcp(id); });
  }

  World& world_;
  Dice& dice_;
  unsigned channels_;
  ChannelId next_link_ = kFirstTcpChannel;
};

std::string described(const WorldSettings& settings) {
  std::ostringstream out;
  const auto link = [&out](const LinkSettings& l) {
    out << l.rate_bps / 1e6 << " Mbit/s " << to_seconds(l.delay) * 1000 << " ms, loss " << l.loss << " by "
        << l.loss_burst << ", mtu " << l.mtu << ", queue " << l.queue_bytes << ", policed "
        << l.police_bps / 1e6;
  };
  link(settings.up);
  out << "; ";
  link(settings.down);
  out << "; " << settings.congestion << ", channels " << settings.channels << ", ssh "
      << settings.ssh_rate_bps / 1e6 << " Mbit/s, firewall " << settings.firewall << ", NAT "
      << settings.nat_forgets.has_value();
  return out.str();
}

// For what is left when the trouble is over, by the slowest way that may be the only one.
Duration time_for(std::uint64_t bytes, const WorldSettings& settings) {
  const double slowest = std::min({settings.up.rate_bps, settings.down.rate_bps, settings.ssh_rate_bps}) / 8;
  return kPatience + from_seconds(3 * static_cast<double>(bytes) / slowest);
}

void expect_nothing_kept(const Host& host) {
  EXPECT_EQ(host.session().streams().memory_in_use(), 0u);
  EXPECT_FALSE(host.session().peer_failed());
  EXPECT_TRUE(host.intact());
}

void expect_a_quiet_minute(World& world) {
  const auto sent = [&world] {
    return world.client.session().statistics().bytes_sent + world.server.session().statistics().bytes_sent;
  };
  const std::uint64_t before = sent(), wakes = world.client.wakes + world.server.wakes;
  world.run_until([] { return false; }, world.now().time_since_epoch() + seconds(60));
  EXPECT_LE(sent() - before, 300'000u);
  EXPECT_LE(world.client.wakes + world.server.wakes - wakes, 3000u);
}

class AnyWorld : public testing::TestWithParam<int> {};

TEST_P(AnyWorld, AllComesOnceTheTroubleIsOver) {
  Dice dice(scenario_seed() * 1'000'000 + static_cast<std::uint64_t>(GetParam()));
  const WorldSettings settings = any_settings(dice);
  SCOPED_TRACE(described(settings));
  World world(settings);
  const std::vector<LinkSettings> links = links_of(world);
  Users users(world, dice);
  const Troubles troubles(world, dice, settings.channels);
  world.run_until([] { return false; }, kTrouble);
  heal(world, links);
  users.wake_readers();
  ASSERT_TRUE(
      world.run_until([&] { return users.all_ended(); }, kTrouble + time_for(users.bytes(), settings)));
  users.expect_whole();
  world.run_until([] { return false; },
                  std::max<Duration>(world.now().time_since_epoch(), kTrouble + kStandstill) + seconds(10));
  for (const Host* host : {&world.client, &world.server}) expect_nothing_kept(*host);
  expect_a_quiet_minute(world);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyWorld, testing::Range(0, kWorlds));

}  // namespace
}  // namespace mcdtp::sim
