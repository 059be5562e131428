#include "common/core/stream_buffer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <random>
#include <string>

#include "common/core/bytes.h"

namespace mcdtp {
namespace {

BlockPool pool;

std::string read(const StreamBuffer& buffer, std::uint64_t offset, std::size_t size) {
  std::string text(size, '\0');
  buffer.read(offset, MutableBytes(reinterpret_cast<std::uint8_t*>(text.data()), size));
  return text;
}

TEST(StreamBuffer, AsAStringWhoseFrontGoes) {
  std::mt19937 random(3);
  StreamBuffer buffer(pool);
  std::string model;
  for (int step = 0; step < 400; ++step) {
    const std::string piece(random() % 50'000, static_cast<char>('a' + random() % 26));
    buffer.write(model.size(), as_bytes(piece));
    model += piece;
    const std::uint64_t base = buffer.base() + random() % (model.size() - buffer.base() + 1) / 2;
    buffer.release_below(base);
    const std::size_t size = std::min<std::size_t>(model.size() - base, 200'000);
    ASSERT_EQ(read(buffer, base, size), model.substr(base, size));
    ASSERT_LE(buffer.blocks(), (model.size() - base) / StreamBuffer::kBlockSize + 2);
  }
}

TEST(StreamBuffer, OutOfOrderBytesStay) {
  StreamBuffer buffer(pool);
  const std::uint64_t far = 3 * StreamBuffer::kBlockSize - 2;
  buffer.write(far, as_bytes("wxyz"));
  buffer.write(10, as_bytes("a"));
  EXPECT_EQ(read(buffer, far, 4), "wxyz");
  EXPECT_EQ(buffer.contiguous(far, 4).size(), 2u);
  buffer.release_below(far + 1);
  EXPECT_EQ(read(buffer, far + 1, 3), "xyz");
}

TEST(StreamBuffer, ReleaseBeyondAllThatWasWritten) {
  StreamBuffer buffer(pool);
  buffer.write(0, as_bytes("a"));
  buffer.release_below(std::uint64_t{1} << 40);
  EXPECT_EQ(buffer.blocks(), 0u);
  buffer.write(buffer.base(), as_bytes("b"));
  EXPECT_EQ(read(buffer, std::uint64_t{1} << 40, 1), "b");
  EXPECT_DEATH(buffer.write(0, as_bytes("c")), "");
}

TEST(StreamBuffer, TrimKeepsWhatHoldsBytes) {
  StreamBuffer buffer(pool);
  const std::uint64_t before = pool.in_use();
  buffer.write(0, as_bytes("abc"));
  buffer.room(StreamBuffer::kBlockSize);
  EXPECT_EQ(buffer.blocks(), 2u);
  buffer.trim(3);
  EXPECT_EQ(buffer.blocks(), 1u);
  EXPECT_EQ(read(buffer, 0, 3), "abc");
  EXPECT_TRUE(buffer.has_block(3));
  EXPECT_FALSE(buffer.has_block(StreamBuffer::kBlockSize));
  buffer.release_below(3);
  buffer.trim(3);
  EXPECT_EQ(buffer.blocks(), 0u);
  EXPECT_EQ(pool.in_use(), before);
}

TEST(BlockPool, CountsWhatIsInUse) {
  BlockPool own;
  {
    StreamBuffer one(own), other(own);
    one.write(0, std::vector<std::uint8_t>(BlockPool::kBlockSize + 1));
    other.write(10 * BlockPool::kBlockSize, as_bytes("a"));
    EXPECT_EQ(own.in_use(), 3 * BlockPool::kBlockSize);
  }
  EXPECT_EQ(own.in_use(), 0u);
}

// In bytes.
std::uint64_t resident_memory() {
  std::uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// Also where something small, made later, lies above it all.
TEST(BlockPool, WhatWasUsedOnceGoesBackToTheSystem) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer keeps what is freed";
#endif
  constexpr std::uint64_t kMuch = 128 << 20;
  BlockPool own;
  StreamBuffer buffer(own);
  buffer.write(0, std::vector<std::uint8_t>(kMuch, 1));
  const auto pin = std::make_unique<char[]>(100);
  const std::uint64_t before = resident_memory();
  buffer.release_below(kMuch);
  EXPECT_LE(resident_memory(), before - kMuch * 3 / 4);
}

}  // namespace
}  // namespace mcdtp
