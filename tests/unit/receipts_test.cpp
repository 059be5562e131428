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
  write_report(out, receipts.build(at(1), 0));
}

TEST(Receipts, ReportSaysWhatCameNewestFirst) {
  Receipts receipts;
  for (const PacketNumber n : {0, 1, 2, 7, 5}) ASSERT_TRUE(receipts.on_packet(at(10), n));
  receipts.on_kernel_drops(9);
  const ReportFrame report = receipts.build(at(14), 3);
  EXPECT_EQ(report.channel, 3);
  EXPECT_EQ(report.delay, milliseconds(4));
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
  // Number 1 was never seen, but 0 is not known any more: it would be taken twice.
  EXPECT_FALSE(receipts.on_packet(at(0), 0));
  EXPECT_EQ(receipts.build(at(0), 0).ranges.size(), kMaxReportRanges);
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
