#include "common/core/receipts.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

Time at(int milliseconds_passed) { return Time{} + milliseconds(milliseconds_passed); }

TEST(Receipts, ANumberIsNewOnce) {
  Receipts receipts;
  EXPECT_TRUE(receipts.on_packet(at(0), 5));
  EXPECT_FALSE(receipts.on_packet(at(0), 5));
  EXPECT_TRUE(receipts.on_packet(at(0), 4));
  EXPECT_EQ(receipts.received(), 2u);
  EXPECT_EQ(receipts.duplicates(), 1u);
  EXPECT_TRUE(receipts.is_highest(5));
  EXPECT_FALSE(receipts.is_highest(4));
}

TEST(Receipts, NumbersThatNoReportCouldName) {
  Receipts receipts;
  EXPECT_FALSE(receipts.on_packet(at(0), ~PacketNumber{0}));
  EXPECT_FALSE(receipts.on_packet(at(0), kMaxVarint + 1));
  EXPECT_TRUE(receipts.on_packet(at(0), kMaxVarint));
  std::array<std::uint8_t, kMinReportSize> room;
  Writer out(room);
  write_report(out, receipts.build(at(1), 0), room.size());
}

TEST(Receipts, ReportSaysWhatCameNewestFirst) {
  Receipts receipts;
  for (const PacketNumber n : {0, 1, 2, 7, 5}) ASSERT_TRUE(receipts.on_packet(at(10), n));
  receipts.on_kernel_drops(9);
  const ReportFrame report = receipts.build(at(14), 3);
  EXPECT_EQ(report.channel, 3);
  EXPECT_EQ(report.delay, milliseconds(4));
  EXPECT_EQ(report.arrived, 10'000u);
  EXPECT_EQ(report.kernel_drops, 9u);
  EXPECT_EQ(report.ranges, (std::vector<Range>{{7, 8}, {5, 6}, {0, 3}}));
  EXPECT_GT(receipts.build(at(14), 3).sequence, report.sequence);
}

TEST(Receipts, FloorForgetsAllButTheLargest) {
  Receipts receipts;
  for (const PacketNumber n : {0, 1, 2, 7}) ASSERT_TRUE(receipts.on_packet(at(0), n));
  receipts.on_floor({0, 2, milliseconds(5)});
  EXPECT_EQ(receipts.build(at(0), 0).ranges, (std::vector<Range>{{7, 8}, {2, 3}}));
  EXPECT_FALSE(receipts.on_packet(at(0), 1));
  receipts.on_floor({0, 1000, milliseconds(5)});
  EXPECT_EQ(receipts.build(at(0), 0).ranges, (std::vector<Range>{{7, 8}}));
  EXPECT_TRUE(receipts.on_packet(at(0), 8));
}

TEST(Receipts, RangesAreBoundedAndTheForgottenStayForgotten) {
  Receipts receipts;
  for (PacketNumber n = 0; n <= 2 * Receipts::kMaxRanges; n += 2) ASSERT_TRUE(receipts.on_packet(at(0), n));
  // 0 is not known any more, and would be taken twice.
  EXPECT_FALSE(receipts.on_packet(at(0), 0));
  EXPECT_FALSE(receipts.on_packet(at(0), 2));
  EXPECT_TRUE(receipts.on_packet(at(0), 3));
}

// What a report names in `room` bytes, and the largest number it is about.
std::vector<Range> say(Receipts& receipts, std::size_t room) {
  const ReportFrame newest = receipts.build(at(1), 0);
  std::vector<std::uint8_t> bytes(room);
  Writer out(bytes);
  const bool split = receipts.older_turn();
  receipts.written(write_report(out, newest, split ? room / 2 : room));
  if (split) receipts.written_older(write_report(out, receipts.build_older(0), out.remaining()));
  Reader in(Bytes(bytes).first(out.size()));
  std::vector<Range> named;
  while (const auto frame = read_frame(in)) {
    const auto& report = std::get<ReportFrame>(*frame);
    EXPECT_EQ(report.sequence, newest.sequence);
    named.insert(named.end(), report.ranges.begin(), report.ranges.end());
  }
  return named;
}

// Every second number comes, far more of them than one report can name.
TEST(Receipts, OlderNumbersAreNamedInTurn) {
  Receipts receipts;
  constexpr PacketNumber kEnd = 60'000;
  for (PacketNumber n = 0; n < kEnd; n += 2) ASSERT_TRUE(receipts.on_packet(at(0), n));
  RangeSet named;
  int reports = 0;
  for (; named.size() < kEnd / 2 && reports < 200; ++reports) {
    const std::vector<Range> ranges = say(receipts, 1100);
    // The newest 4,000 stand in every one.
    for (std::size_t i = 0; i < 2000; ++i) EXPECT_EQ(ranges[i].end, kEnd - 1 - 2 * i);
    for (const Range& range : ranges) named.add(range.begin, range.end);
  }
  EXPECT_EQ(named.size(), kEnd / 2);
  for (const Range& range : named.ranges()) EXPECT_TRUE(range.begin % 2 == 0 && range.size() == 1);
  // Some 4,000 older numbers go into every fourth.
  EXPECT_LE(reports, 4 * (kEnd / 4000 + 1));
}

TEST(Receipts, WhatTheFloorHasPassedIsNotGoneBackTo) {
  Receipts receipts;
  for (PacketNumber n = 0; n < 40'000; n += 2) ASSERT_TRUE(receipts.on_packet(at(0), n));
  for (int i = 0; i < 5; ++i) say(receipts, 1100);
  receipts.on_floor({0, 39'990, milliseconds(5)});
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(say(receipts, 1100).size(), 5u);
    EXPECT_FALSE(receipts.older_turn());
  }
}

TEST(Receipts, ManyPacketsMakeAReportDue) {
  Receipts receipts;
  receipts.on_floor({0, 0, milliseconds(20)});
  for (PacketNumber n = 0; n < Receipts::kMaxUnreported; ++n) {
    ASSERT_TRUE(receipts.on_packet(at(100), n));
    EXPECT_NE(receipts.due(), at(100));
    receipts.schedule(at(100), true, false);
  }
  EXPECT_EQ(receipts.due(), at(100));
  receipts.reported();
  ASSERT_TRUE(receipts.on_packet(at(101), Receipts::kMaxUnreported));
  receipts.schedule(at(101), true, false);
  EXPECT_EQ(receipts.due(), at(121));
}

TEST(Receipts, WhenAReportIsDue) {
  Receipts receipts;
  receipts.on_floor({0, 0, milliseconds(20)});
  ASSERT_TRUE(receipts.on_packet(at(100), 0));
  receipts.schedule(at(100), false, false);
  EXPECT_EQ(receipts.due(), kNever);
  receipts.schedule(at(100), true, false);
  EXPECT_EQ(receipts.due(), at(120));
  EXPECT_EQ(receipts.link_due(), at(180));
  // A later packet does not put it off; one after which the sender has nothing left brings it forward.
  ASSERT_TRUE(receipts.on_packet(at(110), 1));
  receipts.schedule(at(110), true, false);
  EXPECT_EQ(receipts.due(), at(120));
  receipts.schedule(at(110), true, true);
  EXPECT_EQ(receipts.due(), at(111));
  receipts.reported();
  EXPECT_EQ(receipts.due(), kNever);
}

// How the path draws a train out shows from its first packet on, where the sender wants to know.
TEST(Receipts, TheFirstOfATrainIsReportedAtOnce) {
  for (const bool sends_trains : {true, false}) {
    Receipts receipts;
    receipts.on_floor({0, 0, sends_trains ? Duration{} : milliseconds(1)});
    for (const PacketNumber number : {0, 1}) {
      const int now = number == 0 ? 10 : 20;
      ASSERT_TRUE(receipts.on_packet(at(now), number));
      receipts.schedule(at(now), true, false);
      EXPECT_EQ(receipts.due(), at(sends_trains ? now : now + 1));
      receipts.reported();
    }
    ASSERT_TRUE(receipts.on_packet(at(20), 2));
    receipts.schedule(at(20), true, false);
    EXPECT_EQ(receipts.due(), at(21)) << "of the same train";
  }
}

TEST(Receipts, TheFirstHoleIsReportedAtOnce) {
  Receipts receipts;
  receipts.on_floor({0, 0, milliseconds(20)});
  ASSERT_TRUE(receipts.on_packet(at(100), 0));
  ASSERT_TRUE(receipts.on_packet(at(100), 2));
  receipts.schedule(at(100), true, false);
  EXPECT_EQ(receipts.due(), at(100));
  receipts.reported();
  ASSERT_TRUE(receipts.on_packet(at(105), 4));
  receipts.schedule(at(105), true, false);
  EXPECT_EQ(receipts.due(), at(125));
}

}  // namespace
}  // namespace mcdtp
