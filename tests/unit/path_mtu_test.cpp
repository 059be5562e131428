#include "common/core/path_mtu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mcdtp {
namespace {

using namespace std::chrono_literals;
using State = PathMtu::State;
using Sizes = std::vector<std::size_t>;

constexpr Time kStart{};

// A channel that has data without end, over a path that carries datagrams of `carries` bytes of UDP payload.
class Path {
 public:
  explicit Path(std::size_t carries) : carries_(carries) {}

  // One probe, once there were data enough for it. False: none is due.
  bool probe_once() {
    mtu.on_data_sent(now, PathMtu::kDataPerProbe * PathMtu::kMost);
    if (mtu.wants_limit()) return false;
    const auto size = mtu.probe();
    if (!size) return false;
    sizes.push_back(*size);
    mtu.on_probe_sent(++number);
    if (*size <= carries_) {
      mtu.on_probe_covered(now, number, *size);
    } else {
      mtu.on_probe_lost(now, number);
    }
    return true;
  }
  void search() {
    for (int probes = 0; probe_once(); ++probes) ASSERT_LT(probes, 100) << "a search without end";
  }
  void start(std::size_t limit) {
    mtu.set_limit(now, limit);
    search();
  }
  // Packets of data of size() bytes; all come, or none.
  void data(int count, bool arrive) {
    const std::size_t size = mtu.size();
    for (int i = 0; i < count; ++i) {
      ++number;
      if (arrive) {
        mtu.on_covered(number, size);
      } else {
        mtu.on_lost(now, number, size);
      }
    }
  }
  void small_packet() { mtu.on_covered(++number, 100); }

  std::size_t carries_;
  PathMtu mtu;
  Time now = kStart;
  PacketNumber number = 0;
  Sizes sizes;  // of the probes
};

TEST(PathMtu, StartsAtTheBaseAndAsksForItsLimitOnceThereIsData) {
  PathMtu mtu;
  EXPECT_EQ(mtu.state(), State::kBase);
  EXPECT_EQ(mtu.size(), 1200u);
  mtu.on_data_sent(kStart, 16 * 1200 - 1);
  EXPECT_FALSE(mtu.wants_limit());
  EXPECT_FALSE(mtu.probe());
  mtu.on_data_sent(kStart, 1);
  EXPECT_TRUE(mtu.wants_limit());
  EXPECT_FALSE(mtu.probe());
  mtu.set_limit(kStart, 1472);
  EXPECT_FALSE(mtu.wants_limit());
  EXPECT_EQ(mtu.state(), State::kSearching);
}

TEST(PathMtu, AProbeFollowsSixteenTimesItsSizeOfData) {
  PathMtu mtu;
  mtu.set_limit(kStart, 1472);
  mtu.on_data_sent(kStart, 16 * 1472 - 1);
  EXPECT_FALSE(mtu.probe());
  mtu.on_data_sent(kStart, 1);
  EXPECT_EQ(mtu.probe(), 1472u);
  mtu.on_probe_sent(7);
  mtu.on_data_sent(kStart, 1'000'000);
  EXPECT_FALSE(mtu.probe()) << "a second one beside it";
  mtu.on_probe_lost(kStart, 7);
  EXPECT_EQ(mtu.probe(), 1472u);
}

struct Row {
  std::size_t limit;
  std::size_t carries;
  std::size_t probes;  // at most
};

// Bytes of UDP payload: what the interface takes, what the path carries, and how many probes that may cost.
TEST(PathMtu, FindsWhatThePathCarries) {
  for (const Row& row : std::vector<Row>{
           {1200, 1200, 0},  {1472, 1472, 1},   {1452, 1452, 1},     {1472, 1200, 20}, {1472, 1215, 20},
           {1472, 1372, 17}, {1472, 1392, 17},  {1472, 1400, 17},    {1472, 1424, 17}, {1472, 1452, 7},
           {1472, 1464, 7},  {1372, 1372, 1},   {8972, 8972, 2},     {8972, 1472, 7},  {8972, 1452, 7},
           {8972, 1372, 20}, {8972, 1200, 23},  {8972, 4322, 30},    {8972, 8942, 30}, {65507, 65507, 2},
           {65507, 1472, 7}, {65507, 8972, 40}, {100'000, 65507, 2}, {1000, 1200, 0},
       }) {
    SCOPED_TRACE(std::to_string(row.limit) + " " + std::to_string(row.carries));
    Path path(row.carries);
    path.start(row.limit);
    EXPECT_EQ(path.mtu.state(), State::kComplete);
    EXPECT_LE(path.mtu.size(), row.carries);
    EXPECT_GE(path.mtu.size() + PathMtu::kStep,
              std::min(row.carries, std::max<std::size_t>(row.limit, 1200)));
    EXPECT_LE(path.sizes.size(), row.probes);
  }
}

TEST(PathMtu, EverySizeIsFoundToWithinAStep) {
  for (const std::size_t limit : {1472u, 8972u}) {
    for (std::size_t carries = PathMtu::kBase; carries <= limit; ++carries) {
      Path path(carries);
      path.start(limit);
      ASSERT_LE(path.mtu.size(), carries);
      ASSERT_GE(path.mtu.size() + PathMtu::kStep, carries);
      ASSERT_LE(path.sizes.size(), 36u) << carries;
    }
  }
}

TEST(PathMtu, TriesWhatIsLikelyThenTheLargestThenTheMiddle) {
  Path path(1372);
  path.start(8972);
  EXPECT_EQ(path.sizes,
            (Sizes{1472, 1472, 1472, 1452, 1452, 1452, 1326, 1389, 1389, 1389, 1357, 1373, 1373, 1373}));
  EXPECT_EQ(path.mtu.size(), 1357u);
  Path jumbo(1472);
  jumbo.start(8972);
  EXPECT_EQ(jumbo.sizes, (Sizes{1472, 8972, 8972, 8972, 1488, 1488, 1488}));
}

TEST(PathMtu, TwoLostProbesAreChance) {
  PathMtu mtu;
  mtu.set_limit(kStart, 1472);
  mtu.on_data_sent(kStart, 1'000'000);
  for (PacketNumber number = 0; number < 3; ++number) {
    EXPECT_EQ(mtu.probe(), 1472u);
    mtu.on_probe_sent(number);
    mtu.on_data_sent(kStart, 1'000'000);
    if (number < 2) mtu.on_probe_lost(kStart, number);
  }
  EXPECT_TRUE(mtu.on_probe_covered(kStart, 2, 1472));
  EXPECT_EQ(mtu.size(), 1472u);
}

TEST(PathMtu, AProbeThatIsLateCounts) {
  PathMtu mtu;
  mtu.set_limit(kStart, 8972);
  PacketNumber number = 0;
  for (; mtu.on_data_sent(kStart, 1'000'000), mtu.probe() == 1472u; ++number) {
    mtu.on_probe_sent(number);
    mtu.on_probe_lost(kStart, number);
  }
  EXPECT_EQ(number, 3u);
  EXPECT_TRUE(mtu.on_probe_covered(kStart, 0, 1472));
  EXPECT_EQ(mtu.size(), 1472u);
  EXPECT_EQ(mtu.probe(), 8972u);
}

TEST(PathMtu, AHintIsTriedFirst) {
  Path path(1420);
  path.mtu.set_hint(1412);
  path.start(8972);
  EXPECT_EQ(path.sizes.front(), 1412u);
  EXPECT_EQ(path.mtu.size(), 1412u);
  // ... and does not hold back what carries more.
  Path wide(8972);
  wide.mtu.set_hint(1412);
  wide.start(8972);
  EXPECT_EQ(wide.mtu.size(), 8972u);
}

// A hint that comes between two probes of one size must not make the other two count for it.
TEST(PathMtu, LossesOfOneSizeSayNothingOfAnother) {
  PathMtu mtu;
  mtu.set_limit(kStart, 1472);
  mtu.on_data_sent(kStart, 1'000'000);
  for (PacketNumber number = 0; number < 2; ++number) {
    mtu.on_probe_sent(number);
    mtu.on_probe_lost(kStart, number);
    mtu.on_data_sent(kStart, 1'000'000);
  }
  mtu.set_hint(1400);
  EXPECT_EQ(mtu.probe(), 1400u);
  mtu.on_probe_sent(2);
  mtu.on_probe_lost(kStart, 2);
  mtu.on_data_sent(kStart, 1'000'000);
  EXPECT_EQ(mtu.probe(), 1400u);
}

TEST(PathMtu, TheUsersCapHolds) {
  Path path(8972);
  path.mtu.set_cap(1300);
  path.start(8972);
  EXPECT_EQ(path.mtu.size(), 1300u);
  EXPECT_EQ(path.sizes, Sizes{1300});
  Path base(8972);
  base.mtu.set_cap(1200);
  base.mtu.on_data_sent(kStart, 1'000'000);
  EXPECT_FALSE(base.mtu.wants_limit());
}

TEST(PathMtu, SearchesAgainAfterAWhile) {
  Path path(1372);
  path.start(1472);
  EXPECT_EQ(path.mtu.size(), 1357u);
  path.sizes.clear();
  path.carries_ = 1472;
  path.now += PathMtu::kRaise - 1s;
  EXPECT_FALSE(path.probe_once());
  path.now += 1s;
  path.probe_once();
  EXPECT_TRUE(path.mtu.wants_limit()) << "the interface may have changed, too";
  path.start(1472);
  EXPECT_EQ(path.mtu.size(), 1472u);
}

TEST(PathMtu, SearchingAgainInVainCostsLittle) {
  Path path(1372);
  path.start(1472);
  path.sizes.clear();
  path.now += PathMtu::kRaise;
  path.search();
  path.start(1472);
  EXPECT_EQ(path.mtu.size(), 1357u);
  EXPECT_EQ(path.mtu.state(), State::kComplete);
  EXPECT_EQ(path.sizes, (Sizes{1472, 1472, 1472, 1452, 1452, 1452, 1373, 1373, 1373}));
}

TEST(PathMtu, ABlackHoleIsLeftAndSearchedBelow) {
  Path path(8972);
  path.start(8972);
  path.data(100, true);
  path.carries_ = 1372;
  path.data(PathMtu::kBlackHoleLosses + 5, false);
  EXPECT_EQ(path.mtu.size(), 8972u) << "nothing small has come: the path may be gone";
  path.small_packet();
  path.data(1, false);
  EXPECT_EQ(path.mtu.size(), PathMtu::kBase);
  EXPECT_EQ(path.mtu.state(), State::kSearching);
  path.search();
  EXPECT_EQ(path.mtu.size(), 1357u);
}

TEST(PathMtu, AFalseBlackHoleCostsTwoProbes) {
  Path path(8972);
  path.start(8972);
  path.data(PathMtu::kBlackHoleLosses - 1, false);
  path.small_packet();
  path.data(1, false);
  EXPECT_EQ(path.mtu.size(), PathMtu::kBase);
  path.sizes.clear();
  path.search();
  EXPECT_EQ(path.sizes, (Sizes{1472, 8972}));
}

TEST(PathMtu, LossesWithArrivalsBetweenAreNoBlackHole) {
  Path path(1472);
  path.start(1472);
  for (int i = 0; i < 1000; ++i) {
    path.data(PathMtu::kBlackHoleLosses - 1, false);
    path.small_packet();
    path.data(1, true);
  }
  EXPECT_EQ(path.mtu.size(), 1472u);
}

// A queue that overflows takes a run of packets, and large ones behind it arrive: the same report says both.
TEST(PathMtu, LossesBeforeALargeArrivalAreNoBlackHole) {
  Path path(1472);
  path.start(1472);
  path.small_packet();
  const PacketNumber first = path.number;
  path.number += 50;
  path.data(1, true);
  path.small_packet();
  for (PacketNumber lost = first; lost < first + 50; ++lost) path.mtu.on_lost(path.now, lost, 1472);
  EXPECT_EQ(path.mtu.size(), 1472u);
}

// Sent before the size was lowered, judged after.
TEST(PathMtu, OldLargePacketsSayNothingOfTheNewSize) {
  Path path(8972);
  path.start(8972);
  path.carries_ = 1472;
  path.data(PathMtu::kBlackHoleLosses - 1, false);
  path.small_packet();
  path.data(1, false);
  path.search();
  ASSERT_EQ(path.mtu.size(), 1472u);
  path.small_packet();
  for (int i = 0; i < 20; ++i) path.mtu.on_lost(path.now, 100 + i, 8972);
  EXPECT_EQ(path.mtu.size(), 1472u);
}

TEST(PathMtu, APathThatCarriesLessThanTheBaseIsAnError) {
  Path path(1472);
  path.start(1472);
  path.carries_ = 1100;
  path.data(PathMtu::kBlackHoleLosses, false);
  path.small_packet();
  path.data(1, false);
  ASSERT_EQ(path.mtu.size(), PathMtu::kBase);
  path.data(PathMtu::kErrorLosses - PathMtu::kSureLosses, false);
  path.small_packet();
  path.data(PathMtu::kSureLosses - 1, false);
  EXPECT_EQ(path.mtu.state(), State::kSearching);
  path.data(1, false);
  EXPECT_EQ(path.mtu.state(), State::kError);
  path.mtu.restart();
  EXPECT_EQ(path.mtu.state(), State::kBase);
}

// However many are lost before the first small packet comes.
TEST(PathMtu, AnOutageIsNoError) {
  Path path(PathMtu::kBase);
  path.data(1, true);
  path.data(1000, false);
  path.small_packet();
  path.data(PathMtu::kSureLosses - 1, false);
  EXPECT_EQ(path.mtu.state(), State::kBase);
  path.data(1, true);
  EXPECT_EQ(path.mtu.state(), State::kBase);
}

// The small one may be known before the first loss is.
TEST(PathMtu, SmallPacketsThatCameBeforeTheLossesWereKnownCount) {
  Path path(PathMtu::kBase);
  path.data(1, true);
  const PacketNumber first = path.number;
  path.number += PathMtu::kErrorLosses - PathMtu::kSureLosses;
  path.small_packet();
  for (PacketNumber lost = first; lost < first + PathMtu::kErrorLosses - PathMtu::kSureLosses; ++lost)
    path.mtu.on_lost(path.now, lost, PathMtu::kBase);
  path.data(PathMtu::kSureLosses, false);
  EXPECT_EQ(path.mtu.state(), State::kError);
}

// Losses alone, or with packets of the base between them, are but losses.
TEST(PathMtu, WhatStillCarriesTheBaseIsNoError) {
  Path path(PathMtu::kBase);
  path.data(1000, false);
  EXPECT_EQ(path.mtu.state(), State::kBase);
  path.data(1, true);
  for (int i = 0; i < 1000; ++i) {
    path.data(PathMtu::kErrorLosses - 1, false);
    path.small_packet();
    path.data(1, true);
  }
  EXPECT_EQ(path.mtu.state(), State::kBase);
}

TEST(PathMtu, ALowerLimitHoldsAtOnce) {
  Path path(8972);
  path.start(8972);
  path.mtu.set_limit(kStart, 1472);
  EXPECT_EQ(path.mtu.size(), 1472u);
  EXPECT_EQ(path.mtu.state(), State::kComplete);
  // A probe on its way is none any more.
  Path probing(8972);
  probing.mtu.set_limit(kStart, 8972);
  probing.mtu.on_data_sent(kStart, 1'000'000);
  probing.mtu.on_probe_sent(1);
  probing.mtu.on_probe_covered(kStart, 1, 1472);
  probing.mtu.on_data_sent(kStart, 1'000'000);
  EXPECT_EQ(probing.mtu.probe(), 8972u);
  probing.mtu.on_probe_sent(2);
  probing.mtu.set_limit(kStart, 1400);
  EXPECT_EQ(probing.mtu.size(), 1400u);
  EXPECT_FALSE(probing.mtu.on_probe_covered(kStart, 2, 8972));
  EXPECT_EQ(probing.mtu.size(), 1400u);
}

TEST(PathMtu, WhatTheSystemRefusesIsNotTriedAgain) {
  Path path(5000);
  path.mtu.set_limit(kStart, 8972);
  path.mtu.on_refused(kStart, 8972);
  path.search();
  EXPECT_EQ(std::count_if(path.sizes.begin(), path.sizes.end(), [](std::size_t size) { return size > 8000; }),
            0);
  EXPECT_GE(path.mtu.size() + PathMtu::kStep, 5000u);
  path.mtu.on_refused(kStart, path.mtu.size());
  EXPECT_EQ(path.mtu.size(), PathMtu::kBase);
  path.mtu.on_refused(kStart, PathMtu::kBase);
  EXPECT_EQ(path.mtu.state(), State::kSearching);
}

// The interface says more than the system lets go, each time it is asked.
TEST(PathMtu, ARefusalEndsTheSearchAlthoughTheInterfaceSaysMore) {
  PathMtu mtu;
  const auto ask = [&](std::size_t most) {
    for (int probes = 0; probes < 100; ++probes) {
      mtu.on_data_sent(kStart, 1'000'000);
      const auto size = mtu.probe();
      if (!size) return probes;
      const auto number = static_cast<PacketNumber>(probes);
      mtu.on_probe_sent(number);
      if (*size <= most) {
        mtu.on_probe_covered(kStart, number, *size);
      } else {
        mtu.set_limit(kStart, 65507);
        mtu.on_refused(kStart, *size);
      }
    }
    return 100;
  };
  mtu.set_limit(kStart, 65507);
  EXPECT_LT(ask(1472), 30);
  EXPECT_EQ(mtu.size(), 1472u);
}

TEST(PathMtu, ANewPathBeginsAtTheBase) {
  Path path(8972);
  path.mtu.set_cap(5000);
  path.start(8972);
  ASSERT_EQ(path.mtu.size(), 5000u);
  path.mtu.restart();
  EXPECT_EQ(path.mtu.state(), State::kBase);
  EXPECT_EQ(path.mtu.size(), PathMtu::kBase);
  EXPECT_FALSE(path.mtu.probe());
  path.search();
  EXPECT_TRUE(path.mtu.wants_limit());
  path.start(8972);
  EXPECT_EQ(path.mtu.size(), 5000u);
}

}  // namespace
}  // namespace mcdtp
