#include <gtest/gtest.h>

#include <iomanip>

#include "tests/sim/world.h"

// Channels that differ: each crosses a link of its own. One that is slower, later or lossier than the rest, or dead,
// must not hold the stream back.
namespace mcdtp::sim {
namespace {

constexpr std::uint64_t kSize = 10'000'000;
constexpr ChannelId kOdd = 1;

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

void change_odd(WorldSettings& settings, const LinkChange& change) {
  change(settings.own_up[kOdd]);
  change(settings.own_down[kOdd]);
}

void change_odd_at(World& world, Duration when, const LinkChange& change) {
  world.at(when, [&world, change] {
    change(world.up(kOdd).settings);
    change(world.down(kOdd).settings);
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
};

void nothing(LinkSettings&) {}
void cut(LinkSettings& link) { link.cut = true; }
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
  change_odd(settings, oddity.from_start);
  World world(settings);
  change_odd_at(world, milliseconds(300), oddity.later);
  change_odd_at(world, milliseconds(700), oddity.last);
  // All of it takes some 0.7 s, of which the RTT of the late channel is 0.4.
  EXPECT_GE(share_of_good(world, channels - 1), 0.75);
}

const Oddity kOddities[] = {
    {"none", nothing, nothing, nothing},    {"tenth", times(0.1), nothing, nothing},
    {"half", times(0.5), nothing, nothing}, {"late", later_by_200_ms, nothing, nothing},
    {"lossy", lossy, nothing, nothing},     {"dead", cut, nothing, nothing},
};

std::string name_of(const testing::TestParamInfo<OneOddChannel::ParamType>& info) {
  const auto& [oddity, channels, coupling] = info.param;
  return std::string(oddity.name) + "_of_" + std::to_string(channels) +
         (coupling == Coupling::kNone ? "_uncoupled" : "");
}

INSTANTIATE_TEST_SUITE_P(Links, OneOddChannel,
                         testing::Combine(testing::ValuesIn(kOddities), testing::Values(4U, 8U),
                                          testing::Values(Coupling::kNone)),
                         name_of);

}  // namespace
}  // namespace mcdtp::sim
