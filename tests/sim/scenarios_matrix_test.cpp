#include <gtest/gtest.h>

#include "tests/sim/world.h"

// Every fault of the network x every kind of application: identical bytes, no stall, a bound in virtual time.
namespace mcdtp::sim {
namespace {

constexpr std::uint64_t kBulk = 1'000'000;
constexpr std::uint64_t kQuestion = 100;
constexpr Duration kFaultAt = milliseconds(150);

LinkSettings good_link() {
  LinkSettings link;
  link.rate_bps = 20e6;
  link.delay = milliseconds(10);
  return link;
}

struct Fault {
  const char* name;
  Duration extra;  // what it may cost beyond a good link
  std::function<void(WorldSettings&)> prepare;
  std::function<void(World&)> script;
};

using LinkChange = std::function<void(LinkSettings&)>;

Fault links(const char* name, Duration extra, const LinkChange& change) {
  const auto prepare = [change](WorldSettings& settings) {
    change(settings.up);
    change(settings.down);
  };
  return {name, extra, prepare, [](World&) {}};
}

Fault one_channel(const char* name, Duration extra, const LinkChange& from_start, const LinkChange& later,
                  const LinkChange& last) {
  const auto prepare = [from_start](WorldSettings& settings) {
    LinkSettings own = good_link();
    from_start(own);
    settings.own_up[1] = settings.own_down[1] = own;
  };
  const auto script = [later, last](World& world) {
    const auto both = [&world](const LinkChange& change) {
      return [&world, change] {
        change(world.up(1).settings);
        change(world.down(1).settings);
      };
    };
    world.at(kFaultAt, both(later));
    world.at(kFaultAt + seconds(2), both(last));
  };
  return {name, extra, prepare, script};
}

Fault scripted(const char* name, Duration extra, std::function<void(World&)> script) {
  return {name, extra, [](WorldSettings&) {}, std::move(script)};
}

void nothing(LinkSettings&) {}
void cut(LinkSettings& link) { link.cut = true; }
void mend(LinkSettings& link) { link.cut = false; }
LinkChange times(double factor) {
  return [factor](LinkSettings& link) { link.rate_bps *= factor; };
}

void everything_at_once(LinkSettings& link) {
  link.loss = 0.05;
  link.loss_burst = 3;
  link.reorder = link.duplicate = link.corrupt = 0.05;
  link.jitter = milliseconds(3);
}

// 1 MB takes 2 s over SSH.
constexpr Duration kOverSsh = seconds(15);

std::vector<Fault> lossy_links() {
  return {
      links("none", {}, nothing),
      links("loss", seconds(2), [](LinkSettings& link) { link.loss = 0.05; }),
      links("heavy_loss", seconds(20), [](LinkSettings& link) { link.loss = 0.3; }),
      links("burst_loss", seconds(3), [](LinkSettings& link) { link.loss = 0.05, link.loss_burst = 8; }),
      links("reorder", seconds(2), [](LinkSettings& link) { link.reorder = 0.1; }),
      links("duplicate", seconds(2), [](LinkSettings& link) { link.duplicate = 0.1; }),
      links("corrupt", seconds(2), [](LinkSettings& link) { link.corrupt = 0.05; }),
      links("jitter", seconds(2), [](LinkSettings& link) { link.jitter = milliseconds(10); }),
      links("small_queue", seconds(3), [](LinkSettings& link) { link.queue_bytes = 12'000; }),
      links("policer", seconds(5), [](LinkSettings& link) { link.police_bps = 5e6; }),
      links("all_of_these", seconds(5), everything_at_once),
  };
}

std::vector<Fault> failing_channels() {
  return {
      one_channel("slow_channel", milliseconds(500), times(0.01), nothing, nothing),
      one_channel("dead_channel", seconds(1), cut, nothing, nothing),
      one_channel("dying_channel", seconds(1), nothing, cut, nothing),
      one_channel("back_again", seconds(1), nothing, cut, mend),
      scripted("all_dead", kOverSsh, [](World& w) { w.at(kFaultAt, [&w] { w.cut_all(true); }); }),
      scripted("all_dead_and_back", kOverSsh,
               [](World& w) {
                 w.at(kFaultAt, [&w] { w.cut_all(true); });
                 w.at(kFaultAt + seconds(2), [&w] { w.cut_all(false); });
               }),
      links("udp_blocked", kOverSsh, cut),
      {"up_blocked", kOverSsh, [](WorldSettings& s) { s.up.cut = true; }, [](World&) {}},
      {"down_blocked", kOverSsh, [](WorldSettings& s) { s.down.cut = true; }, [](World&) {}},
      scripted("up_dies", kOverSsh, [](World& w) { w.at(kFaultAt, [&w] { w.each_up(cut); }); }),
      scripted("down_dies", kOverSsh, [](World& w) { w.at(kFaultAt, [&w] { w.each_down(cut); }); }),
  };
}

void tcp_comes_and_goes(World& world) {
  world.at(milliseconds(50), [&world] { world.connect_tcp(256); });
  world.at(milliseconds(400), [&world] { world.end_tcp(256); });
  world.at(milliseconds(600), [&world] { world.connect_tcp(257); });
}

std::vector<Fault> changing_links() {
  return {
      scripted("control_stalls", seconds(3),
               [](World& w) { w.at(kFaultAt, [&w] { w.stall_pipes(seconds(2)); }); }),
      scripted("tcp_link", seconds(3), tcp_comes_and_goes),
      {"tcp_link_without_udp", kOverSsh, [](WorldSettings& s) { s.up.cut = s.down.cut = true; },
       tcp_comes_and_goes},
      scripted("new_address", seconds(10), [](World& w) { w.at(kFaultAt, [&w] { w.client.address = 2; }); }),
      scripted("tenth", seconds(10), [](World& w) { w.at(kFaultAt, [&w] { w.each_link(times(0.1)); }); }),
      scripted("tenfold", seconds(2), [](World& w) { w.at(kFaultAt, [&w] { w.each_link(times(10)); }); }),
  };
}

std::vector<Fault> all_faults() {
  std::vector<Fault> all = lossy_links();
  for (auto& list : {failing_channels(), changing_links()}) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// ---- applications ----

struct Application {
  const char* name;
  double round_trips;                                  // that it cannot do without
  std::function<std::function<bool()>(World&)> start;  // returns when it is done
};

std::function<bool()> bulk_up(World& world) {
  world.client.send(kStdio, kBulk);
  return [&world] { return world.server.ended(kStdio) && world.server.received(kStdio) == kBulk; };
}

std::function<bool()> bulk_down(World& world) {
  world.server.send(kStdio, kBulk);
  return [&world] { return world.client.ended(kStdio) && world.client.received(kStdio) == kBulk; };
}

std::function<bool()> both_ways(World& world) {
  const auto up = bulk_up(world), down = bulk_down(world);
  return [up, down] { return up() && down(); };
}

constexpr std::uint64_t kRounds = 30;

std::function<bool()> ping_pong(World& world) {
  world.client.write(kStdio, kQuestion);
  world.server.on_received = [&world, sent = std::uint64_t{0}](StreamId id, std::uint64_t total) mutable {
    for (; sent + kQuestion <= total; sent += kQuestion) world.server.write(id, kQuestion);
    if (world.server.ended(id)) world.server.finish(id);
  };
  world.client.on_received = [&world, sent = kQuestion](StreamId id, std::uint64_t total) mutable {
    for (; sent <= total && sent < kRounds * kQuestion; sent += kQuestion) world.client.write(id, kQuestion);
    if (sent <= total) world.client.finish(id);
  };
  return
      [&world] { return world.client.ended(kStdio) && world.client.received(kStdio) == kRounds * kQuestion; };
}

// The server sends back as much as it gets, once it has it all.
void answer_streams(World& world) {
  world.server.on_received = [&world](StreamId id, std::uint64_t total) {
    if (world.server.ended(id)) world.server.send(id, total);
  };
}

std::function<bool()> many_at_once(World& world) {
  constexpr std::uint64_t kStreams = 100, kSize = 3000;
  answer_streams(world);
  for (std::uint64_t i = 0; i < kStreams; ++i) world.client.send(world.client.open("echo"), kSize);
  return [&world] {
    for (std::uint64_t i = 0; i < kStreams; ++i) {
      const StreamId id = kFirstClientStream + 2 * i;
      if (!world.client.ended(id) || world.client.received(id) != kSize) return false;
    }
    // Those over are forgotten on both ends: stdio and stderr remain.
    return world.client.session().streams().count() == 2 && world.server.session().streams().count() == 2;
  };
}

constexpr std::uint64_t kInTurn = 100;

std::function<bool()> one_after_another(World& world) {
  answer_streams(world);
  const auto next = [&world] { world.client.send(world.client.open("echo"), kQuestion); };
  world.client.on_received = [&world, next, done = std::uint64_t{1}](StreamId id, std::uint64_t) mutable {
    if (world.client.ended(id) && done < kInTurn) ++done, next();
  };
  next();
  return [&world] {
    const StreamId last = kFirstClientStream + 2 * (kInTurn - 1);
    return world.client.ended(last) && world.client.received(last) == kQuestion &&
           world.client.session().streams().count() == 2 && world.server.session().streams().count() == 2;
  };
}

std::vector<Application> all_applications() {
  return {{"bulk_up", 0, bulk_up},           {"bulk_down", 0, bulk_down},
          {"both_ways", 0, both_ways},       {"ping_pong", kRounds, ping_pong},
          {"many_at_once", 0, many_at_once}, {"one_after_another", kInTurn, one_after_another}};
}

class Matrix : public testing::TestWithParam<std::tuple<Fault, Application>> {};

TEST_P(Matrix, SameBytesInTime) {
  const auto& [fault, application] = GetParam();
  WorldSettings settings;
  settings.channels = 4;
  settings.up = settings.down = good_link();
  fault.prepare(settings);
  World world(settings);
  fault.script(world);
  const auto done = application.start(world);
  // A link without fault at a third of its rate, and three times the round trips.
  const Duration link = from_seconds(3 * kBulk / World::limit(good_link()));
  const Duration trips = std::chrono::duration_cast<Duration>(application.round_trips * 3 * milliseconds(20));
  const Duration faulty_trips = application.round_trips > 0 ? fault.extra : Duration{};
  EXPECT_TRUE(world.run_until(done, seconds(1) + link + trips + fault.extra + faulty_trips))
      << "up " << world.server.received(kStdio) << ", down " << world.client.received(kStdio) << ", streams "
      << world.client.session().streams().count() << " and " << world.server.session().streams().count();
  EXPECT_TRUE(world.client.intact() && world.server.intact());
  EXPECT_FALSE(world.client.session().peer_failed() || world.server.session().peer_failed());
  RecordProperty("virtual_ms", static_cast<int>(world.seconds_passed() * 1000));
}

std::string name_of(const testing::TestParamInfo<Matrix::ParamType>& info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(Faults, Matrix,
                         testing::Combine(testing::ValuesIn(all_faults()),
                                          testing::ValuesIn(all_applications())),
                         name_of);

}  // namespace
}  // namespace mcdtp::sim
