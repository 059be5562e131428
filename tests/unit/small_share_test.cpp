#include "common/core/congestion/small_share.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr double kCapacity = 1e6;

double more_at(double share, double capacity = kCapacity) {
  SmallShare small_share;
  small_share.begin(capacity);
  return small_share.next(share * kCapacity);
}

TEST(SmallShare, WhoHasLessThanItsHalfSendsMore) {
  EXPECT_EQ(more_at(1), 0);
  EXPECT_EQ(more_at(0.5), 0);
  EXPECT_GT(more_at(0.4), 0);
  EXPECT_GT(more_at(0.35), more_at(0.4));
  EXPECT_EQ(more_at(0.25), more_at(0.3));  // but not without bound
  EXPECT_LE(more_at(0.3), 0.05);
}

TEST(SmallShare, NotAmongMany) { EXPECT_EQ(more_at(0.1), 0); }

TEST(SmallShare, NotWhereTrainsHaveSaidNothing) { EXPECT_EQ(more_at(0.3, 0), 0); }

TEST(SmallShare, NotOnceItIsAlone) {
  SmallShare small_share;
  small_share.begin(kCapacity);
  small_share.end();
  EXPECT_EQ(small_share.next(0.3 * kCapacity), 0);
}

// A path that can do less than at the start is filled by one alone.
TEST(SmallShare, BelievesTheTrainsLessAndLess) {
  SmallShare small_share;
  small_share.begin(kCapacity);
  int rounds = 0;
  while (small_share.next(0.3 * kCapacity) > 0 && rounds < 1000) ++rounds;
  EXPECT_GT(rounds, 50);
  EXPECT_LT(rounds, 200);
}

}  // namespace
}  // namespace mcdtp
