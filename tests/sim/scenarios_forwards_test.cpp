#include <gtest/gtest.h>

#include <iostream>

#include "tests/sim/world.h"

// Forwarded connections: none waits for another's lost packets, none that says little for one that says much, and days
// of silence change nothing.
namespace mcdtp::sim {
namespace {

constexpr std::uint64_t kMessage = 400;  // bytes, so that a packet holds more than one

WorldSettings lossy() {
  WorldSettings settings;
  settings.channels = 4;
  settings.up.rate_bps = settings.down.rate_bps = 20e6;
  settings.up.delay = settings.down.delay = milliseconds(25);
  settings.up.loss = settings.down.loss = 0.05;
  return settings;
}

// Connections of one message each, from the client, and when each came.
class Messages {
 public:
  explicit Messages(World& world) : world_(world) {
    world.server.on_received = [this](StreamId id, std::uint64_t total) {
      if (total == kMessage && sent_.contains(id)) delay_.try_emplace(id, world_.now() - sent_.at(id));
    };
    world.on_datagram = [this](Role from, Bytes frames, bool lost) {
      if (from == Role::kClient && lost) note_lost(frames);
    };
  }

  void send_one() {
    const StreamId id = world_.client.open("x");
    sent_[id] = world_.now();
    backlog_[id] = world_.up(0).backlog(world_.now());
    world_.client.send(id, kMessage);
  }
  bool all_came() const { return delay_.size() == sent_.size(); }
  // The longest way of one of which no packet was lost, beyond the packets that waited in the link before it.
  Duration longest_untouched() const {
    Duration longest{};
    for (const auto& [id, delay] : delay_) {
      if (!touched_.contains(id)) longest = std::max(longest, delay - backlog_.at(id));
    }
    return longest;
  }
  Duration longest() const {
    Duration longest{};
    for (const auto& [id, delay] : delay_) longest = std::max(longest, delay);
    return longest;
  }
  std::size_t touched() const { return touched_.size(); }

 private:
  void note_lost(Bytes frames) {
    for (Reader in(frames); in.remaining() > 0 && !in.failed();) {
      const auto frame = read_frame(in);
      if (!frame) break;
      if (const auto* data = std::get_if<DataFrame>(&*frame)) touch(data->stream);
      if (const auto* open = std::get_if<OpenFrame>(&*frame)) touch(open->stream);
    }
  }
  void touch(StreamId id) {
    if (sent_.contains(id)) touched_.insert(id);
  }

  World& world_;
  std::map<StreamId, Time> sent_;
  std::map<StreamId, Duration> backlog_;
  std::map<StreamId, Duration> delay_;
  std::set<StreamId> touched_;
};

TEST(ForwardScenario, ALostPacketDelaysOnlyTheStreamsWhoseBytesItCarried) {
  World world(lossy());
  Messages messages(world);
  constexpr int kMany = 1000;
  for (int i = 0; i < kMany; ++i) world.at(seconds(1) + milliseconds(3 * i), [&] { messages.send_one(); });
  ASSERT_TRUE(
      world.run_until([&] { return world.seconds_passed() > 4 && messages.all_came(); }, seconds(10)));
  std::cout << messages.touched() << " of " << kMany << " lost a packet; the others took up to "
            << to_seconds(messages.longest_untouched()) << " s, all up to " << to_seconds(messages.longest())
            << " s\n";
  EXPECT_GT(messages.touched(), kMany / 50u);
  EXPECT_LE(messages.longest_untouched(), milliseconds(25 + 5));
  EXPECT_LE(messages.longest(), milliseconds(1000));
  EXPECT_TRUE(world.server.intact());
}

TEST(ForwardScenario, SmallMessagesGoBeforeAllThatFillsTheLink) {
  World world(lossy());
  Messages messages(world);
  world.client.write(kStdio, std::uint64_t{1} << 30);
  const StreamId bulk = world.client.open("bulk");
  world.client.write(bulk, std::uint64_t{1} << 30);
  constexpr int kMany = 300;
  for (int i = 0; i < kMany; ++i) world.at(seconds(3) + milliseconds(10 * i), [&] { messages.send_one(); });
  ASSERT_TRUE(
      world.run_until([&] { return world.seconds_passed() > 6 && messages.all_came(); }, seconds(12)));
  std::cout << "beside bulk: " << to_seconds(messages.longest_untouched()) << " s without a loss, all up to "
            << to_seconds(messages.longest()) << " s\n";
  EXPECT_LE(messages.longest_untouched(), milliseconds(25 + 10));
  EXPECT_GT(world.server.received(kStdio) + world.server.received(bulk), 5'000'000u);
}

TEST(ForwardScenario, BulkStreamsShareByBytes) {
  World world(lossy());
  std::vector<StreamId> streams;
  for (int i = 0; i < 5; ++i) {
    streams.push_back(world.client.open("x"));
    world.client.write(streams.back(), std::uint64_t{1} << 30);
  }
  world.run_until([] { return false; }, seconds(10));
  std::vector<std::uint64_t> received;
  for (const StreamId id : streams) received.push_back(world.server.received(id));
  const auto [least, most] = std::minmax_element(received.begin(), received.end());
  std::cout << "of five: " << *least << " to " << *most << " bytes\n";
  EXPECT_GT(*least, 2'000'000u);
  EXPECT_GE(static_cast<double>(*least), 0.9 * static_cast<double>(*most));
}

// mcdtp-shim -N: an echo at each end, asked now and then.
class IdleDays {
 public:
  explicit IdleDays(WorldSettings settings) : world(std::move(settings)) {
    for (Host* host : {&world.client, &world.server}) {
      host->finish(kStdio);
      host->on_received = [this, host](StreamId id, std::uint64_t total) {
        if (host->ended(id) && !asked_[host].contains(id)) host->send(id, total);
      };
    }
    world.server.finish(kStderr);
  }

  // How long a connection takes to come back from the other end.
  std::optional<Duration> ask(Host& from, Duration patience) {
    const Time begun = world.now();
    const StreamId id = from.open("echo");
    asked_[&from].insert(id);
    from.send(id, kMessage);
    if (!world.run_until([&] { return from.ended(id); }, begun.time_since_epoch() + patience)) return {};
    EXPECT_EQ(from.received(id), kMessage);
    return world.now() - begun;
  }
  // From either end, the server first where `server_first`; keeps the longest.
  void ask_both(bool server_first, Duration patience) {
    Host* first = server_first ? &world.server : &world.client;
    Host* second = server_first ? &world.client : &world.server;
    for (Host* host : {first, second}) {
      const auto took = ask(*host, patience);
      EXPECT_TRUE(took) << "at " << world.seconds_passed() << " s";
      longest = std::max(longest, took.value_or(patience));
    }
  }
  void pass(Duration time) {
    world.run_until([] { return false; }, world.now().time_since_epoch() + time);
  }
  void expect_nothing_grown() {
    for (Host* host : {&world.client, &world.server}) {
      EXPECT_EQ(host->session().streams().count(), 0u);
      EXPECT_EQ(host->session().streams().memory_in_use(), 0u);
      EXPECT_FALSE(host->session().peer_failed());
      host->session().for_each_channel([&](const Channel& channel) {
        EXPECT_LT(channel.sent.packets().size(), 50u) << channel.id();
        Receipts receipts = channel.receipts;
        if (receipts.has_anything()) {
          EXPECT_LT(receipts.build(world.now(), channel.id()).ranges.size(), 50u);
        }
      });
    }
  }
  std::uint64_t bytes_sent() {
    return world.client.session().statistics().bytes_sent + world.server.session().statistics().bytes_sent;
  }

  World world;
  Duration longest{};

 private:
  std::map<Host*, std::set<StreamId>> asked_;
};

WorldSettings at_home(Duration nat_forgets) {
  WorldSettings settings = lossy();
  settings.channels = 2;
  settings.nat_forgets = nat_forgets;
  return settings;
}

TEST(ForwardScenario, ThreeIdleDaysBehindANatThatForgetsAfterHalfAMinute) {
  IdleDays days(at_home(seconds(30)));
  ChannelId link = kFirstTcpChannel;
  for (int hour = 0; hour < 72; ++hour) {
    days.pass(seconds(3590 + hour % 17));
    if (hour % 6 == 1) days.world.connect_tcp(link);
    if (hour % 6 == 4) days.world.end_tcp(link++);
    days.ask_both(hour % 2 == 0, seconds(20));
  }
  days.pass(seconds(60));
  std::cout << "a connection took " << to_seconds(days.longest) << " s at most; " << days.bytes_sent() / 3
            << " bytes a day\n";
  EXPECT_EQ(days.world.nat_changes(), 0u);
  EXPECT_LE(days.longest, milliseconds(500));
  EXPECT_LE(days.bytes_sent() / 3, 10'000'000u);
  days.expect_nothing_grown();
}

// Keep-alives come too seldom for this one: what the server sends first is lost, and goes another way.
TEST(ForwardScenario, ADayBehindANatThatForgetsAfterTenSeconds) {
  IdleDays days(at_home(seconds(10)));
  for (int hour = 0; hour < 24; ++hour) {
    days.pass(seconds(3590 + hour % 17));
    days.ask_both(hour % 2 == 0, seconds(20));
  }
  days.pass(seconds(60));
  std::cout << "a connection took " << to_seconds(days.longest) << " s at most; the NAT forgot "
            << days.world.nat_changes() << " times\n";
  EXPECT_GT(days.world.nat_changes(), 1000u);
  EXPECT_LE(days.longest, seconds(5));
  days.expect_nothing_grown();
}

}  // namespace
}  // namespace mcdtp::sim
