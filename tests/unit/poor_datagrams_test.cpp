#include "common/core/poor_datagrams.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

constexpr std::uint64_t kMuch = 4 * PoorDatagrams::kLeast;

// A share of kMuch is lost in each of `spans` spans.
void pass(PoorDatagrams& datagrams, Time& now, double share, int spans) {
  const auto lost = static_cast<std::uint64_t>(share * kMuch);
  for (int i = 0; i < 2 * spans; ++i) {
    datagrams.note(now, (kMuch - lost) / 2, lost / 2, 0);
    now += i % 2 == 0 ? PoorDatagrams::kSpan : Duration{};
  }
}

TEST(PoorDatagrams, TwoSpansOfMuchLossMakeThem) {
  PoorDatagrams datagrams;
  Time now = Time{} + seconds(100);
  pass(datagrams, now, 0.15, 5);
  EXPECT_FALSE(datagrams.are_poor());
  pass(datagrams, now, 0.5, 1);
  EXPECT_FALSE(datagrams.are_poor());
  pass(datagrams, now, 0.05, 1);
  pass(datagrams, now, 0.5, 1);
  EXPECT_FALSE(datagrams.are_poor());
  pass(datagrams, now, 0.3, 1);
  EXPECT_TRUE(datagrams.are_poor());
}

TEST(PoorDatagrams, OneSpanOfLittleLossEndsThat) {
  PoorDatagrams datagrams;
  Time now;
  pass(datagrams, now, 0.3, 2);
  ASSERT_TRUE(datagrams.are_poor());
  pass(datagrams, now, 0.15, 3);
  EXPECT_TRUE(datagrams.are_poor());
  pass(datagrams, now, 0.05, 1);
  EXPECT_FALSE(datagrams.are_poor());
}

TEST(PoorDatagrams, WhatHasArrivedAfterAllIsNotLost) {
  PoorDatagrams datagrams;
  Time now;
  for (int i = 0; i < 10; ++i, now += PoorDatagrams::kSpan)
    datagrams.note(now, kMuch / 2, kMuch / 2, kMuch / 2);
  EXPECT_FALSE(datagrams.are_poor());
}

TEST(PoorDatagrams, LittleSaysNothing) {
  PoorDatagrams datagrams;
  Time now;
  for (int i = 0; i < 9; ++i, now += PoorDatagrams::kSpan)
    datagrams.note(now, 0, PoorDatagrams::kLeast / 10, 0);
  EXPECT_FALSE(datagrams.are_poor());
}

}  // namespace
}  // namespace mcdtp
