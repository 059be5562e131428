#include "common/core/stream_buffer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "common/core/bytes.h"

namespace mcdtp {
namespace {

std::string read(const StreamBuffer& buffer, std::uint64_t offset, std::size_t size) {
  std::string text(size, '\0');
  buffer.read(offset, MutableBytes(reinterpret_cast<std::uint8_t*>(text.data()), size));
  return text;
}

TEST(StreamBuffer, AsAStringWhoseFrontGoes) {
  std::mt19937 random(3);
  StreamBuffer buffer;
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
  StreamBuffer buffer;
  const std::uint64_t far = 3 * StreamBuffer::kBlockSize - 2;
  buffer.write(far, as_bytes("wxyz"));
  buffer.write(10, as_bytes("a"));
  EXPECT_EQ(read(buffer, far, 4), "wxyz");
  EXPECT_EQ(buffer.contiguous(far, 4).size(), 2u);
  buffer.release_below(far + 1);
  EXPECT_EQ(read(buffer, far + 1, 3), "xyz");
}

TEST(StreamBuffer, ReleaseBeyondAllThatWasWritten) {
  StreamBuffer buffer;
  buffer.write(0, as_bytes("a"));
  buffer.release_below(std::uint64_t{1} << 40);
  EXPECT_EQ(buffer.blocks(), 0u);
  buffer.write(buffer.base(), as_bytes("b"));
  EXPECT_EQ(read(buffer, std::uint64_t{1} << 40, 1), "b");
  EXPECT_DEATH(buffer.write(0, as_bytes("c")), "");
}

}  // namespace
}  // namespace mcdtp
