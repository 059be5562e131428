#include "common/io/host_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(HostMemory, DefaultIsASixteenthWithinBounds) {
  EXPECT_EQ(default_memory_of(0), 64 * kMiB);
  EXPECT_EQ(default_memory_of(1024 * kMiB), 64 * kMiB);
  EXPECT_EQ(default_memory_of(4096 * kMiB), 256 * kMiB);
  EXPECT_EQ(default_memory_of(16384 * kMiB), 1024 * kMiB);
  EXPECT_EQ(default_memory_of(~std::uint64_t{0}), 4096 * kMiB);
}

class GroupMemory : public ::testing::Test {
 protected:
  GroupMemory() { std::filesystem::create_directories(root_ / "a/b"); }
  void limit(const std::string& group, const std::string& words) {
    std::ofstream(root_ / group / "memory.max") << words << "\n";
  }
  std::optional<std::uint64_t> limit_of(const std::string& groups) const {
    return group_memory_limit(groups, root_.string());
  }

 private:
  TemporaryFolder folder_;
  const std::filesystem::path& root_ = folder_.path();
};

TEST_F(GroupMemory, TightestOfAllAboveHolds) {
  EXPECT_EQ(limit_of("0::/a/b\n"), std::nullopt);
  limit("a", "max");
  limit("a/b", "max");
  EXPECT_EQ(limit_of("0::/a/b\n"), std::nullopt);
  limit("a/b", "3000");
  EXPECT_EQ(limit_of("0::/a/b\n"), 3000u);
  limit("a", "2000");
  EXPECT_EQ(limit_of("0::/a/b\n"), 2000u);
  EXPECT_EQ(limit_of("0::/a\n"), 2000u);
  EXPECT_EQ(limit_of("0::/\n"), std::nullopt);
  limit("", "1000");  // as in a container, whose own group is the root
  EXPECT_EQ(limit_of("0::/\n"), 1000u);
  EXPECT_EQ(limit_of("0::/a/b\n"), 1000u);
}

TEST_F(GroupMemory, OtherGroupsSayNothing) {
  limit("", "1000");
  EXPECT_EQ(limit_of(""), std::nullopt);
  EXPECT_EQ(limit_of("12:memory:/a/b\n"), std::nullopt);
  EXPECT_EQ(limit_of("1:net_cls:/\n0::/a (deleted)"), 1000u);
}

TEST(HostMemory, OfThisHostIsWithinBounds) {
  EXPECT_GT(available_memory(), 0u);
  EXPECT_GE(default_memory(), kLeastDefaultMemory);
  EXPECT_LE(default_memory(), kMostDefaultMemory);
}

}  // namespace
}  // namespace mcdtp
