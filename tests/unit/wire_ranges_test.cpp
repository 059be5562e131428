#include "common/core/wire_ranges.h"

#include <gtest/gtest.h>

#include <random>

namespace mcdtp {
namespace {

struct Written {
  std::size_t size = 0;  // bytes
  PacketNumber lowest = 0;
  std::vector<Range> ranges;  // as they are read again
};

Written write_and_read(const std::vector<Range>& ranges, std::size_t room_size) {
  std::vector<std::uint8_t> room(room_size);
  Writer out(room);
  Written written;
  written.lowest = write_ranges(out, ranges, room_size);
  written.size = out.size();
  Reader in(Bytes(room).first(out.size()));
  read_ranges(in, ranges[0].end - 1, written.ranges);
  EXPECT_FALSE(in.failed());
  EXPECT_EQ(in.remaining(), 0u);
  return written;
}

// What is said of the ranges that reach down to `lowest`.
std::vector<Range> cut_at(std::vector<Range> ranges, PacketNumber lowest) {
  while (ranges.back().end <= lowest) ranges.pop_back();
  ranges.back().begin = std::max(ranges.back().begin, lowest);
  return ranges;
}

// Numbers below `end`, each lost with the probability `loss`.
std::vector<Range> random_ranges(std::mt19937& random, PacketNumber end, double loss) {
  std::bernoulli_distribution lost(loss);
  std::vector<Range> ranges{{end - 1, end}};
  for (PacketNumber n = end - 1; n-- > 0;) {
    if (lost(random)) continue;
    if (ranges.back().begin == n + 1) {
      --ranges.back().begin;
    } else {
      ranges.push_back({n, n + 1});
    }
  }
  return ranges;
}

TEST(WireRanges, AFewLossesAreRangesManyAreABitmap) {
  EXPECT_EQ(write_and_read({{0, 10'000}}, 1000).size, 3u);
  EXPECT_EQ(write_and_read({{101, 102}, {0, 100}}, 1000).size, 5u);
  std::vector<Range> every_second;
  for (PacketNumber n = 800; n > 0; n -= 2) every_second.push_back({n, n + 1});
  // 799 numbers below the largest, the lowest of them 2.
  EXPECT_EQ(write_and_read(every_second, 1000).size, 4u + 100u);
}

TEST(WireRanges, ComeBackWholeWhereThereIsRoom) {
  std::mt19937 random(1);
  for (const double loss : {0.0, 0.01, 0.05, 0.1, 0.5, 0.9, 1.0}) {
    for (const PacketNumber end : {1u, 2u, 9u, 10u, 4000u}) {
      const auto ranges = random_ranges(random, end, loss);
      const Written written = write_and_read(ranges, 8192);
      EXPECT_EQ(written.ranges, ranges) << loss << " " << end;
      EXPECT_EQ(written.lowest, ranges.back().begin);
    }
  }
}

TEST(WireRanges, TheNewestStayWhereRoomIsLittle) {
  std::mt19937 random(2);
  for (const double loss : {0.01, 0.1, 0.5, 0.9}) {
    const auto ranges = random_ranges(random, 30'000, loss);
    for (std::size_t room = kMinRangesSize; room < 1400; room += 13) {
      const Written written = write_and_read(ranges, room);
      EXPECT_LE(written.size, room);
      EXPECT_EQ(written.ranges, cut_at(ranges, written.lowest)) << loss << " " << room;
      EXPECT_EQ(written.ranges.back().begin, written.lowest);
    }
  }
}

// The least that one datagram says, whatever was lost: what Receipts::kMaxUnreported relies on.
TEST(WireRanges, OneDatagramNamesEightThousandNumbers) {
  std::mt19937 random(3);
  for (const double loss : {0.0, 0.05, 0.1, 0.25, 0.5}) {
    const Written written = write_and_read(random_ranges(random, 100'000, loss), 1100);
    EXPECT_LE(written.lowest, 100'000u - 8000u) << loss;
  }
}

TEST(WireRanges, BothFormsAreBounded) {
  std::vector<Range> ranges;
  for (PacketNumber n = 1'000'000; n > 0; n -= 100) ranges.push_back({n, n + 1});
  EXPECT_EQ(write_and_read(ranges, 100'000).ranges.size(), kMaxReportRanges);
  ranges.clear();
  for (PacketNumber n = 100'000; n > 0; n -= 2) ranges.push_back({n, n + 1});
  EXPECT_EQ(write_and_read(ranges, 100'000).ranges.size(), 4 * kMaxReportBitmap + 1);
}

TEST(WireRanges, TheLargestNumbersThereAre) {
  const std::vector<Range> ranges{{kMaxVarint, kMaxVarint + 1}, {0, 1}};
  EXPECT_EQ(write_and_read(ranges, 100).ranges, ranges);
  const std::vector<Range> wide{{1, kMaxVarint}};
  EXPECT_EQ(write_and_read(wide, kMinRangesSize).ranges, wide);
}

}  // namespace
}  // namespace mcdtp
