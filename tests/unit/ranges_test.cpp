#include "common/core/ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace mcdtp {
namespace {

constexpr std::uint64_t kUniverse = 60;

void expect_same(const RangeSet& ranges, const std::set<std::uint64_t>& model) {
  std::set<std::uint64_t> held;
  std::optional<std::uint64_t> last_end;
  for (const Range& range : ranges.ranges()) {
    ASSERT_LT(range.begin, range.end);
    ASSERT_TRUE(!last_end || *last_end < range.begin) << "neighbours touch";
    last_end = range.end;
    for (std::uint64_t v = range.begin; v < range.end; ++v) held.insert(v);
  }
  ASSERT_EQ(held, model);
  for (std::uint64_t v = 0; v <= kUniverse; ++v) ASSERT_EQ(ranges.contains(v), model.contains(v)) << v;
}

void expect_missing(const RangeSet& ranges, const std::set<std::uint64_t>& model, std::uint64_t begin,
                    std::uint64_t end) {
  std::set<std::uint64_t> holes, expected;
  for (const Range& hole : ranges.missing(begin, end)) {
    ASSERT_LT(hole.begin, hole.end);
    for (std::uint64_t v = hole.begin; v < hole.end; ++v) ASSERT_TRUE(holes.insert(v).second);
  }
  for (std::uint64_t v = begin; v < end; ++v) {
    if (!model.contains(v)) expected.insert(v);
  }
  ASSERT_EQ(holes, expected);
}

TEST(Ranges, BehavesAsASetOfIntegers) {
  std::mt19937 random(1);
  const auto below = [&](std::uint64_t n) {
    return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random);
  };
  for (int round = 0; round < 300; ++round) {
    RangeSet ranges;
    std::set<std::uint64_t> model;
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t begin = below(kUniverse), end = below(kUniverse);
      if (below(3) > 0) {
        std::uint64_t added = 0;
        for (std::uint64_t v = begin; v < end; ++v) added += model.insert(v).second ? 1 : 0;
        ASSERT_EQ(ranges.add(begin, end), added);
      } else {
        for (std::uint64_t v = begin; v < end; ++v) model.erase(v);
        ranges.subtract(begin, end);
      }
      expect_same(ranges, model);
      expect_missing(ranges, model, below(kUniverse), below(kUniverse));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Ranges, EmptyRangeAddsNothing) {
  RangeSet ranges;
  EXPECT_EQ(ranges.add(5, 5), 0u);
  EXPECT_EQ(ranges.add(~std::uint64_t{0}, 0), 0u);
  EXPECT_TRUE(ranges.empty());
}

}  // namespace
}  // namespace mcdtp
