#include "common/core/lost_again.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRtt = 200ms;

Time at(Duration time) { return Time(time); }

class LostAgainTest : public testing::Test {
 protected:
  // `count` packets, `apart`, each with 1,000 bytes, the first at `when` and offset 0.
  void lose(std::size_t count, Duration when, Duration apart, Duration rtt = kRtt) {
    for (std::size_t i = 0; i < count; ++i) {
      Cargo cargo;
      cargo.add(DataRef{kStdio, i * 1000, 1000});
      lost_again_.note(at(when + static_cast<Duration::rep>(i) * apart), rtt, cargo);
    }
  }
  std::vector<std::uint64_t> offsets_due(Duration when) {
    std::vector<std::uint64_t> offsets;
    while (const auto ref = lost_again_.take_due(at(when))) offsets.push_back(ref->offset);
    return offsets;
  }

  LostAgain lost_again_;
};

TEST_F(LostAgainTest, GoesASecondTimeALittleLater) {
  lose(LostAgain::kOften + 2, 1s, 0ms);
  EXPECT_EQ(offsets_due(1s), std::vector<std::uint64_t>{});
  EXPECT_EQ(offsets_due(1s + LostAgain::kApart), (std::vector<std::uint64_t>{10000, 11000}));
  EXPECT_EQ(offsets_due(2s), std::vector<std::uint64_t>{});
}

TEST_F(LostAgainTest, NotWhereFewAreLostInARoundTrip) {
  lose(100, 1s, 21ms);
  EXPECT_TRUE(offsets_due(10s).empty());
}

TEST_F(LostAgainTest, NotWhereARoundTripIsShort) {
  lose(100, 1s, 0ms, kLongRtt - 1ms);
  EXPECT_TRUE(offsets_due(10s).empty());
}

TEST_F(LostAgainTest, AsOftenAsThatInEachRoundTrip) {
  lose(100, 1s, 19ms);
  EXPECT_EQ(offsets_due(10s).size(), LostAgain::kFree / 1000);
}

TEST_F(LostAgainTest, TakesASmallShareOfAllThatIsSent) {
  lost_again_.on_sent(100'000 * LostAgain::kShare);
  lose(1000, 1s, 0ms);
  EXPECT_EQ(offsets_due(10s).size(), (LostAgain::kFree + 100'000) / 1000);
}

}  // namespace
}  // namespace mcdtp
