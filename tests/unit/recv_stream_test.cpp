#include "common/core/recv_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "common/core/bytes.h"

namespace mcdtp {
namespace {

BlockPool pool;

using Verdict = RecvStream::Verdict;

std::string take(RecvStream& stream) {
  std::string text;
  while (!stream.readable().empty()) {
    const Bytes part = stream.readable();
    text.append(part.begin(), part.end());
    stream.consume(part.size());
  }
  return text;
}

Verdict data(RecvStream& stream, std::uint64_t offset, std::string_view text) {
  return stream.on_data(offset, as_bytes(text)).verdict;
}

TEST(RecvStream, PutsBytesInOrder) {
  RecvStream stream(pool, 100);
  EXPECT_EQ(data(stream, 3, "def"), Verdict::kTaken);
  EXPECT_EQ(take(stream), "");
  EXPECT_EQ(data(stream, 0, "abcd"), Verdict::kTaken);
  EXPECT_EQ(take(stream), "abcdef");
  EXPECT_EQ(data(stream, 0, "abcdefg"), Verdict::kTaken);
  EXPECT_EQ(take(stream), "g");
}

TEST(RecvStream, CreditIsAHardBound) {
  RecvStream stream(pool, 4);
  EXPECT_EQ(data(stream, 1, "bcde"), Verdict::kOverCredit);
  EXPECT_EQ(stream.highest(), 0u);
  EXPECT_EQ(stream.on_data(0, as_bytes("abcd")).highest_rose_by, 4u);
  EXPECT_EQ(stream.on_data(0, as_bytes("abcd")).highest_rose_by, 0u);
  EXPECT_EQ(stream.on_reset(5).verdict, Verdict::kOverCredit);
}

TEST(RecvStream, FinalSizeHolds) {
  RecvStream stream(pool, 100);
  EXPECT_EQ(data(stream, 0, "abc"), Verdict::kTaken);
  EXPECT_EQ(stream.on_fin(2).verdict, Verdict::kAgainstFinalSize);
  EXPECT_EQ(stream.on_fin(5).verdict, Verdict::kTaken);
  EXPECT_EQ(stream.on_fin(6).verdict, Verdict::kAgainstFinalSize);
  EXPECT_EQ(data(stream, 3, "def"), Verdict::kAgainstFinalSize);
  EXPECT_EQ(stream.on_reset(6).verdict, Verdict::kAgainstFinalSize);
  EXPECT_EQ(data(stream, 3, "de"), Verdict::kTaken);
  EXPECT_TRUE(stream.all_received() && !stream.all_consumed());
  EXPECT_EQ(take(stream), "abcde");
  EXPECT_TRUE(stream.all_consumed());
}

// The sender finished, and gave up before all was sent: the RESET may come first.
TEST(RecvStream, FinOvertakenByReset) {
  RecvStream stream(pool, 100);
  EXPECT_EQ(data(stream, 0, "abc"), Verdict::kTaken);
  EXPECT_EQ(stream.on_reset(5).highest_rose_by, 2u);
  EXPECT_EQ(stream.on_fin(50).verdict, Verdict::kTaken);
  EXPECT_EQ(stream.on_reset(5).verdict, Verdict::kTaken);
  EXPECT_EQ(data(stream, 3, "de"), Verdict::kTaken);
  EXPECT_TRUE(stream.readable().empty() && stream.all_consumed() && stream.is_reset());
}

TEST(RecvStream, ResetOvertakenByFin) {
  RecvStream stream(pool, 100);
  EXPECT_EQ(stream.on_fin(50).verdict, Verdict::kTaken);
  EXPECT_EQ(stream.on_reset(5).verdict, Verdict::kTaken);
  EXPECT_TRUE(stream.all_consumed() && stream.is_reset());
}

TEST(RecvStream, ResetAfterAllCameChangesNothing) {
  RecvStream stream(pool, 100);
  EXPECT_EQ(data(stream, 0, "abc"), Verdict::kTaken);
  EXPECT_EQ(stream.on_fin(3).verdict, Verdict::kTaken);
  EXPECT_EQ(stream.on_reset(3).verdict, Verdict::kTaken);
  EXPECT_FALSE(stream.is_reset());
  EXPECT_EQ(take(stream), "abc");
}

TEST(RecvStream, AnyOrderGivesTheSameText) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    std::string whole(200'000, '\0');
    for (char& c : whole) c = static_cast<char>(random());
    RecvStream stream(pool, whole.size());
    std::string got;
    std::uint64_t rose = 0;
    const auto piece = [&](std::uint64_t offset, std::size_t size) {
      const auto outcome = stream.on_data(offset, as_bytes(std::string_view(whole).substr(offset, size)));
      ASSERT_EQ(outcome.verdict, Verdict::kTaken);
      rose += outcome.highest_rose_by;
      if (random() % 4 == 0) got += take(stream);
    };
    for (int i = 0; i < 60; ++i) piece(random() % whole.size(), 1 + random() % 9000);
    if (round % 2 == 0) {
      ASSERT_EQ(stream.on_fin(whole.size()).verdict, Verdict::kTaken);
    }
    for (std::uint64_t at = 0; at < whole.size(); at += 7000) piece(at, 7000);
    got += take(stream);
    ASSERT_TRUE(got == whole);
    ASSERT_EQ(rose, whole.size());
    ASSERT_EQ(stream.all_consumed(), round % 2 == 0);
  }
}

}  // namespace
}  // namespace mcdtp
