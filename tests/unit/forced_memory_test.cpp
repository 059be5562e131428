#include "client/forced_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

namespace fs = std::filesystem;

class ForcedMemoryTest : public testing::Test {
 protected:
  ForcedMemory memory(const std::string& config) const {
    return ForcedMemory((dir_ / "a" / "b").string(), SshConfig(config));
  }

  TemporaryFolder folder_;
  const fs::path& dir_ = folder_.path();
};

const std::string kHost = "user u\nhostname h\nport 22\nidentityfile ~/.ssh/one\n";

TEST_F(ForcedMemoryTest, HoldsUntilItsTimeIsOver) {
  const ForcedMemory one = memory(kHost);
  EXPECT_FALSE(one.holds(1000));
  one.remember(1000, ForcedMemory::kUnsure);
  EXPECT_TRUE(one.holds(1000));
  EXPECT_TRUE(one.holds(1000 + ForcedMemory::kUnsure - 1));
  EXPECT_FALSE(one.holds(1000 + ForcedMemory::kUnsure));
  // The clock was wrong when it was written.
  EXPECT_FALSE(one.holds(1000 - ForcedMemory::kSure));
  one.forget();
  EXPECT_FALSE(one.holds(1000));
}

TEST_F(ForcedMemoryTest, WhatIsSureIsRenewed) {
  const std::int64_t day = ForcedMemory::kUnsure, later = 1000 + ForcedMemory::kSure - 1;
  const ForcedMemory one = memory(kHost);
  one.renew(1000);
  EXPECT_FALSE(one.holds(1000));
  EXPECT_TRUE(one.remember(1000, ForcedMemory::kUnsure));
  one.renew(1000 + day - 1);
  EXPECT_FALSE(one.holds(1000 + day));
  EXPECT_TRUE(one.remember(1000, ForcedMemory::kSure));
  one.renew(later);
  EXPECT_TRUE(one.holds(later + ForcedMemory::kSure - 1));
  EXPECT_FALSE(one.holds(later + ForcedMemory::kSure));
}

// What was taken for another command may have been a failure: now and then it is asked again.
TEST_F(ForcedMemoryTest, WhatIsSureIsNotRenewedForEver) {
  const ForcedMemory one = memory(kHost);
  EXPECT_TRUE(one.remember(1000, ForcedMemory::kSure));
  const std::int64_t end = 1000 + ForcedMemory::kLongest;
  for (std::int64_t now = 1000; now < end; now += ForcedMemory::kUnsure) {
    EXPECT_TRUE(one.holds(now));
    one.renew(now);
  }
  EXPECT_TRUE(one.holds(end - 1));
  EXPECT_FALSE(one.holds(end));
}

TEST_F(ForcedMemoryTest, TellsAccountsAndKeysApart) {
  memory(kHost).remember(1000, ForcedMemory::kSure);
  EXPECT_TRUE(memory(kHost).holds(1000));
  EXPECT_TRUE(memory(kHost + "compression yes\n").holds(1000));
  for (const char* other : {"user v\nhostname h\nport 22\nidentityfile ~/.ssh/one\n",
                            "user u\nhostname g\nport 22\nidentityfile ~/.ssh/one\n",
                            "user u\nhostname h\nport 23\nidentityfile ~/.ssh/one\n",
                            "user u\nhostname h\nport 22\nidentityfile ~/.ssh/two\n",
                            "user u\nhostname h\nport 22\nidentityfile ~/.ssh/one\nproxyjump j\n"})
    EXPECT_FALSE(memory(other).holds(1000)) << other;
}

TEST_F(ForcedMemoryTest, AFileThatIsDamagedHoldsNothing) {
  const ForcedMemory one = memory(kHost);
  one.remember(1000, ForcedMemory::kSure);
  for (const char* text : {"", "soon", "99999999999999999999", "-1"}) {
    std::ofstream(one.path(), std::ios::trunc) << text;
    EXPECT_FALSE(one.holds(1000)) << text;
  }
}

TEST_F(ForcedMemoryTest, WithoutAPlaceNothingIsRemembered) {
  const ForcedMemory none("", SshConfig(kHost));
  EXPECT_FALSE(none.remember(1000, ForcedMemory::kSure));
  EXPECT_FALSE(none.holds(1000));
  std::ofstream(dir_ / "file") << "x";
  const ForcedMemory blocked((dir_ / "file").string(), SshConfig(kHost));
  EXPECT_FALSE(blocked.remember(1000, ForcedMemory::kSure));
  EXPECT_FALSE(blocked.holds(1000));
}

TEST_F(ForcedMemoryTest, IsForTheUserAlone) {
  memory(kHost).remember(1000, ForcedMemory::kSure);
  struct stat file {};
  ASSERT_EQ(stat(memory(kHost).path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  ASSERT_EQ(stat((dir_ / "a").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0700u);
}

}  // namespace
}  // namespace mcdtp
