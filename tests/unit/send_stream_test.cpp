#include "common/core/send_stream.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "common/core/bytes.h"

namespace mcdtp {
namespace {

BlockPool pool;

constexpr std::uint64_t kAnyRoom = 1 << 30;

std::string text_of(const SendStream& stream, const SendStream::Piece& piece) {
  std::string text(piece.size, '\0');
  stream.copy(piece, MutableBytes(reinterpret_cast<std::uint8_t*>(text.data()), text.size()));
  return text;
}

TEST(SendStream, SendsInOrderWithinCreditAndSessionRoom) {
  SendStream stream(pool);
  stream.write(as_bytes("abcdefgh"));
  EXPECT_FALSE(stream.take(10, kAnyRoom));
  stream.raise_credit(5);
  const auto first = stream.take(3, kAnyRoom);
  ASSERT_TRUE(first);
  EXPECT_EQ(text_of(stream, *first), "abc");
  EXPECT_EQ(text_of(stream, *stream.take(9, 1)), "d");
  EXPECT_EQ(text_of(stream, *stream.take(9, kAnyRoom)), "e");
  EXPECT_FALSE(stream.take(9, kAnyRoom));
  stream.raise_credit(4);
  EXPECT_EQ(stream.credit(), 5u);
}

TEST(SendStream, RequeuedGoesFirstAndNeedsNoCredit) {
  SendStream stream(pool);
  stream.write(as_bytes("abcdef"));
  stream.raise_credit(4);
  ASSERT_TRUE(stream.take(4, kAnyRoom));
  stream.requeue(1, 2);
  EXPECT_EQ(stream.next_piece(), 1u);
  const auto piece = stream.take(10, 0);
  ASSERT_TRUE(piece && piece->again);
  EXPECT_EQ(text_of(stream, *piece), "bc");
}

TEST(SendStream, CoveredBytesAreNotRequeued) {
  SendStream stream(pool);
  stream.write(as_bytes("abcdef"));
  stream.raise_credit(6);
  ASSERT_TRUE(stream.take(6, kAnyRoom));
  stream.covered(2, 2);
  stream.requeue(0, 6);
  EXPECT_EQ(text_of(stream, *stream.take(6, 0)), "ab");
  EXPECT_EQ(text_of(stream, *stream.take(6, 0)), "ef");
  stream.covered(0, 2);
  EXPECT_EQ(stream.buffered(), 2u);
  stream.covered(4, 2);
  EXPECT_TRUE(stream.all_covered());
}

TEST(SendStream, ResetKeepsNothing) {
  SendStream stream(pool);
  stream.write(as_bytes("abcdef"));
  stream.raise_credit(3);
  ASSERT_TRUE(stream.take(6, kAnyRoom));
  stream.requeue(0, 3);
  stream.reset();
  EXPECT_EQ(stream.end(), 3u);
  EXPECT_EQ(stream.buffered(), 0u);
  EXPECT_FALSE(stream.writable() || stream.has_requeued() || stream.has_new());
  stream.requeue(0, 3);
  stream.covered(0, 3);
  EXPECT_FALSE(stream.take(10, kAnyRoom));
}

// Whatever is covered and requeued in whatever order: a byte is sent until it is covered, and then never
// again.
TEST(SendStream, AsASetOfBytesNotYetCovered) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    SendStream stream(pool);
    std::string model;
    std::set<std::uint64_t> covered;
    std::vector<SendStream::Piece> flying;
    while (covered.size() < 4000) {
      if (model.size() < 4000) {
        const std::string more(std::min<std::size_t>(random() % 300, 4000 - model.size()),
                               static_cast<char>('a' + random() % 26));
        stream.write(as_bytes(more));
        model += more;
      }
      stream.raise_credit(model.size() - random() % 50 * (model.size() < 4000));
      while (random() % 4 != 0) {
        const auto piece = stream.take(1 + random() % 200, kAnyRoom);
        if (!piece) break;
        ASSERT_EQ(text_of(stream, *piece), model.substr(piece->offset, piece->size));
        for (std::uint64_t v = piece->offset; v < piece->offset + piece->size; ++v)
          ASSERT_FALSE(covered.contains(v));
        flying.push_back(*piece);
      }
      if (flying.empty()) continue;
      const std::size_t chosen = random() % flying.size();
      const SendStream::Piece piece = flying[chosen];
      if (random() % 3 == 0) {
        stream.requeue(piece.offset, piece.size);
      } else {
        stream.covered(piece.offset, piece.size);
        for (std::uint64_t v = piece.offset; v < piece.offset + piece.size; ++v) covered.insert(v);
      }
      if (random() % 4 != 0) flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
    ASSERT_TRUE(stream.all_covered() && !stream.has_requeued());
  }
}

}  // namespace
}  // namespace mcdtp
