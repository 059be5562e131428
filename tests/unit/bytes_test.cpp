#include "common/core/bytes.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

TEST(Bytes, VarintsOfRfc9000) {
  const std::pair<std::uint64_t, const char*> examples[] = {
      {151288809941952652, "c2197c5eff14e88c"}, {494878333, "9d7f3e7d"}, {15293, "7bbd"}, {37, "25"}};
  for (const auto& [value, text] : examples) {
    std::array<std::uint8_t, 8> room;
    Writer out(room);
    out.varint(value);
    EXPECT_EQ(to_hex(Bytes(room).first(out.size())), text);
    EXPECT_EQ(varint_size(value), out.size());
    Reader in(Bytes(room).first(out.size()));
    EXPECT_EQ(in.varint(), value);
    EXPECT_FALSE(in.failed());
  }
}

TEST(Bytes, VarintSizesChangeWhereTheyMust) {
  const std::pair<std::uint64_t, std::size_t> sizes[] = {
      {0, 1}, {63, 1}, {64, 2}, {16383, 2}, {16384, 4}, {(1u << 30) - 1, 4}, {1u << 30, 8}, {kMaxVarint, 8}};
  for (const auto& [value, size] : sizes) EXPECT_EQ(varint_size(value), size) << value;
}

TEST(Bytes, FailureSticks) {
  const std::array<std::uint8_t, 3> data = {0x40, 1, 2};
  Reader in(data);
  EXPECT_EQ(in.u64(), 0u);
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.u8(), 0u);
  EXPECT_TRUE(in.bytes(1).empty());
  EXPECT_EQ(in.varint(), 0u);
}

TEST(Bytes, BlockHasABound) {
  const std::array<std::uint8_t, 4> data = {3, 'a', 'b', 'c'};
  Reader fits(data);
  EXPECT_EQ(fits.block(3).size(), 3u);
  Reader over(data);
  EXPECT_TRUE(over.block(2).empty());
  EXPECT_TRUE(over.failed());
}

TEST(Bytes, HexBothWays) {
  EXPECT_EQ(from_hex("00ff7f"), (std::vector<std::uint8_t>{0, 255, 127}));
  EXPECT_EQ(from_hex("0"), std::nullopt);
  EXPECT_EQ(from_hex("0g"), std::nullopt);
}

TEST(Bytes, WriterOverflowIsOurBug) {
  std::array<std::uint8_t, 1> room;
  Writer out(room);
  EXPECT_DEATH(out.u16(1), "^mcdtp: a bug: check failed at common/core/bytes.(h|cpp):[0-9]+");
}

}  // namespace
}  // namespace mcdtp
