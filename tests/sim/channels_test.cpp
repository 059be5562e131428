#include <gtest/gtest.h>

#include <algorithm>
#include <iomanip>

#include "tests/sim/world.h"

// Channels that differ: each crosses a link of its own. One that is slower, later or lossier than the rest, or dead,
// must not hold the stream back.
namespace mcdtp::sim {
namespace {

constexpr std::uint64_t kSize = 10'000'000;
LinkSettings good_link() {
  LinkSettings link;
  link.rate_bps = 10e6;
  link.delay = milliseconds(10);
  return link;
}

WorldSettings own_links(unsigned channels) {
  WorldSettings settings;
  settings.channels = channels;
  settings.up = settings.down = good_link();
  for (ChannelId id = 0; id < channels; ++id) settings.own_up[id] = settings.own_down[id] = good_link();
  return settings;
}

using LinkChange = std::function<void(LinkSettings&)>;

void change_at(World& world, Duration when, ChannelId id, const LinkChange& change) {
  world.at(when, [&world, id, change] {
    change(world.up(id).settings);
    change(world.down(id).settings);
  });
}

// What came up, as a share of what `good` channels carry in the time that it took.
double share_of_good(World& world, unsigned good) {
  world.client.send(kStdio, kSize);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(60)));
  EXPECT_EQ(world.server.received(kStdio), kSize);
  EXPECT_TRUE(world.server.intact());
  const double share = kSize / world.seconds_passed() / (good * World::limit(good_link()));
  const SessionStatistics& sent = world.client.session().statistics();
  std::cout << std::setprecision(3) << "share of " << good << " good channels " << share
            << ", packets sent beyond need "
            << static_cast<double>(sent.packets_sent) * (1200 - kSealOverhead - 8) / kSize - 1 << ", lost "
            << sent.packets_lost << ", spurious " << sent.spurious_losses << "\n";
  return share;
}

struct Oddity {
  const char* name;
  LinkChange from_start;
  LinkChange later;  // after 300 ms
  LinkChange last;   // after 700 ms
  ChannelId id = 1;
};

void nothing(LinkSettings&) {}
void cut(LinkSettings& link) { link.cut = true; }
void mend(LinkSettings& link) { link.cut = false; }
LinkChange times(double factor) {
  return [factor](LinkSettings& link) { link.rate_bps *= factor; };
}
void later_by_200_ms(LinkSettings& link) { link.delay += milliseconds(200); }
void lossy(LinkSettings& link) { link.loss = 0.2; }

void PrintTo(const Oddity& oddity, std::ostream* out) { *out << oddity.name; }

class OneOddChannel : public testing::TestWithParam<std::tuple<Oddity, unsigned, Coupling>> {};

TEST_P(OneOddChannel, DoesNotHoldTheOthersBack) {
  const auto& [oddity, channels, coupling] = GetParam();
  WorldSettings settings = own_links(channels);
  settings.coupling = coupling;
  oddity.from_start(settings.own_up[oddity.id]);
  oddity.from_start(settings.own_down[oddity.id]);
  World world(settings);
  change_at(world, milliseconds(300), oddity.id, oddity.later);
  change_at(world, milliseconds(700), oddity.id, oddity.last);
  // The start is part of it; and all channels wait for the first to find the way.
  EXPECT_GE(share_of_good(world, channels - 1), oddity.id == 0 ? 0.65 : 0.75);
}

const Oddity kOddities[] = {
    {"none", nothing, nothing, nothing},
    {"hundredth", times(0.01), nothing, nothing},
    {"tenth", times(0.1), nothing, nothing},
    {"half", times(0.5), nothing, nothing},
    {"late", later_by_200_ms, nothing, nothing},
    {"lossy", lossy, nothing, nothing},
    {"dead", cut, nothing, nothing},
    {"dying", nothing, cut, nothing},
    {"back", nothing, cut, mend},
    {"slows_down", nothing, times(0.01), nothing},
    {"first_tenth", times(0.1), nothing, nothing, 0},
    {"first_late", later_by_200_ms, nothing, nothing, 0},
    {"first_dying", nothing, cut, nothing, 0},
};

std::string name_of(const testing::TestParamInfo<OneOddChannel::ParamType>& info) {
  const auto& [oddity, channels, coupling] = info.param;
  return std::string(oddity.name) + "_of_" + std::to_string(channels) +
         (coupling == Coupling::kNone ? "_uncoupled" : "");
}

INSTANTIATE_TEST_SUITE_P(Links, OneOddChannel,
                         testing::Combine(testing::ValuesIn(kOddities), testing::Values(4U, 8U),
                                          testing::Values(Coupling::kCoupled, Coupling::kNone)),
                         name_of);

class SlowsDownAtAnyTime : public testing::TestWithParam<unsigned> {};

// Copies of lost packets may be what waits on the channel: nobody else would send them.
TEST_P(SlowsDownAtAnyTime, NothingIsLeftToTheSlowChannel) {
  for (auto when = milliseconds(205); when < milliseconds(410); when += milliseconds(10)) {
    World world(own_links(GetParam()));
    change_at(world, when, 1, times(0.01));
    EXPECT_GE(share_of_good(world, GetParam() - 1), 0.65) << "slow after " << when.count() << " ms";
  }
}

INSTANTIATE_TEST_SUITE_P(Channels, SlowsDownAtAnyTime, testing::Values(4U, 8U));

// ---- tails ----

constexpr std::uint64_t kQuestion = 100;
constexpr std::uint64_t kRounds = 600;

// The times from a question to its answer, the shortest first.
std::vector<Duration> answer_times(const WorldSettings& settings) {
  World world(settings);
  std::vector<Duration> times;
  Time asked{};
  world.server.on_received = [&world, answered = std::uint64_t{0}](StreamId id, std::uint64_t total) mutable {
    for (; answered + kQuestion <= total; answered += kQuestion) world.server.write(id, kQuestion);
  };
  world.client.on_received = [&](StreamId id, std::uint64_t total) {
    if (total < (times.size() + 1) * kQuestion) return;
    times.push_back(world.now() - asked);
    asked = world.now();
    world.client.write(id, kQuestion);
  };
  world.run_until([] { return false; }, seconds(1));
  asked = world.now();
  world.client.write(kStdio, kQuestion);
  EXPECT_TRUE(world.run_until([&] { return times.size() == kRounds; }, seconds(200)));
  EXPECT_TRUE(world.client.intact() && world.server.intact());
  const SessionStatistics& sent = world.client.session().statistics();
  std::cout << std::setprecision(3) << "packets sent for each question "
            << static_cast<double>(sent.packets_sent) / kRounds << ", lost " << sent.packets_lost
            << ", spurious " << sent.spurious_losses << "\n";
  std::sort(times.begin(), times.end());
  return times;
}

TEST(Tails, AnswersComeInTimeWithLoss) {
  WorldSettings settings;
  settings.channels = 4;
  settings.up.loss = settings.down.loss = 0.05;
  const auto times = answer_times(settings);
  const auto in_round_trips = [&](std::size_t percent) {
    return to_seconds(times[times.size() * percent / 100]) / to_seconds(2 * settings.up.delay);
  };
  std::cout << "share of an RTT: median " << in_round_trips(50) << ", 90 % " << in_round_trips(90)
            << ", 99 % " << in_round_trips(99) << "\n";
  EXPECT_LE(in_round_trips(50), 1.1);
  EXPECT_LE(in_round_trips(99), 1.5);
}

// Of the pieces of a stream that were lost just twice, the share that went more than once after that.
double sent_twice_after_two_losses(Duration delay) {
  WorldSettings settings;
  settings.up.rate_bps = settings.down.rate_bps = 300e6;
  settings.up.delay = settings.down.delay = delay;
  settings.up.loss = settings.down.loss = 0.05;
  World world(settings);
  struct Count {
    int sent = 0, lost = 0;
  };
  std::map<std::uint64_t, Count> counts;  // by offset
  world.on_datagram = [&](Role from, Bytes frames, bool lost) {
    if (from == Role::kServer) return;
    Reader in(frames);
    while (const auto frame = read_frame(in)) {
      const auto* data = std::get_if<DataFrame>(&*frame);
      if (data == nullptr) continue;
      Count& count = counts[data->offset];
      ++count.sent;
      count.lost += lost ? 1 : 0;
    }
  };
  world.client.send(kStdio, 200'000'000);
  EXPECT_TRUE(world.run_until([&] { return world.server.ended(kStdio); }, seconds(60)));
  EXPECT_TRUE(world.server.intact());
  double all = 0, twice = 0;
  for (const auto& [offset, count] : counts) {
    if (count.lost != 2) continue;
    ++all;
    twice += count.sent > 3 ? 1 : 0;
  }
  EXPECT_GT(all, 100);
  return twice / all;
}

TEST(LostAgain, GoesTwiceOnALongPathOnly) {
  EXPECT_GT(sent_twice_after_two_losses(milliseconds(150)), 0.6);
  EXPECT_LT(sent_twice_after_two_losses(milliseconds(25)), 0.05);
}

// Both copies of a packet lost, or one of them: nothing is kept of either.
TEST(Tails, LeaveNothingBehind) {
  WorldSettings settings;
  settings.channels = 4;
  settings.up.loss = settings.down.loss = 0.3;
  World world(settings);
  for (int i = 0; i < 200; ++i)
    world.at(milliseconds(500 + 100 * i), [&world] { world.client.write(kStdio, 100); });
  world.at(seconds(21), [&world] { world.client.finish(kStdio), world.server.finish(kStdio); });
  const auto done = [&] { return world.server.ended(kStdio) && world.client.ended(kStdio); };
  EXPECT_TRUE(world.run_until(done, seconds(60)));
  world.run_until([] { return false; }, world.now().time_since_epoch() + seconds(10));
  EXPECT_EQ(world.server.received(kStdio), 200U * 100);
  EXPECT_TRUE(world.client.session().all_reported() && world.server.session().all_reported());
  for (ChannelId id = 0; id < settings.channels; ++id)
    EXPECT_LE(world.client.session().channel(id)->sent.packets().size(), 10U);
}

// The way back of one channel and of the control link becomes longer, while both ends send much: neither that nor what it
// makes the channel later counts twice, nor is it a queue.
TEST(ChannelsScenario, ALongerWayBackOfOneChannelIsNoQueue) {
  WorldSettings settings;
  settings.channels = 2;
  LinkSettings link;
  link.rate_bps = 20e6;
  link.delay = milliseconds(10);
  settings.up = settings.down = link;
  for (ChannelId id = 0; id < 2; ++id) settings.own_up[id] = settings.own_down[id] = link;
  World world(settings);
  world.client.write(kStdio, 400'000'000);
  world.server.write(kStdio, 400'000'000);
  world.at(seconds(10), [&] {
    world.each_down([](LinkSettings& down) { down.delay += milliseconds(45); });
    world.down(0).settings.delay -= milliseconds(45);
  });
  const auto up_by = [&](Duration time) {
    world.run_until([] { return false; }, time);
    return static_cast<double>(world.server.received(kStdio));
  };
  const double two = up_by(seconds(2)), ten = up_by(seconds(10)), fifteen = up_by(seconds(15)),
               forty = up_by(seconds(40));
  EXPECT_GE((forty - fifteen) / 25, 0.85 * (ten - two) / 8);
}

}  // namespace
}  // namespace mcdtp::sim
