#include "client/relay_memory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

class RelayMemoryTest : public testing::Test {
 protected:
  RelayMemory memory(const std::string& config) const {
    return RelayMemory(folder_.path().string(), SshConfig(config));
  }

  TemporaryFolder folder_;
};

const std::string kHost = "user u\nhostname h\nport 22\n";

// Whatever broke it off.
TEST_F(RelayMemoryTest, AnAttemptThatTellsNothingIsNotRepeatedSoon) {
  const RelayMemory one = memory(kHost);
  EXPECT_FALSE(one.is_ruled_out(1000));
  EXPECT_TRUE(one.begin(1000));
  EXPECT_TRUE(one.is_ruled_out(1001));
  EXPECT_FALSE(one.is_ruled_out(1000 + RelayMemory::kUnsure));
}

TEST_F(RelayMemoryTest, WhatWentWellIsTriedAgainAtOnce) {
  const RelayMemory one = memory(kHost);
  one.begin(1000);
  EXPECT_FALSE(one.is_confirmed(1000));
  one.confirm(1001);
  EXPECT_TRUE(one.is_confirmed(1002));
  EXPECT_FALSE(one.is_ruled_out(1002));
  EXPECT_TRUE(one.begin(1003));
  EXPECT_FALSE(one.is_ruled_out(1004));
  // But not for ever.
  EXPECT_TRUE(one.begin(1001 + RelayMemory::kSure));
  EXPECT_TRUE(one.is_ruled_out(1002 + RelayMemory::kSure));
}

TEST_F(RelayMemoryTest, IsRenewedByUse) {
  const RelayMemory one = memory(kHost);
  one.confirm(1000);
  one.confirm(1000 + RelayMemory::kSure / 2);
  one.begin(1000 + RelayMemory::kSure);
  EXPECT_FALSE(one.is_ruled_out(1001 + RelayMemory::kSure));
}

TEST_F(RelayMemoryTest, IsRuledOutForItsTimeOrUntilAServerIsSeen) {
  const RelayMemory one = memory(kHost);
  one.confirm(1000);
  one.rule_out(1001, RelayMemory::kSure);
  EXPECT_TRUE(one.is_ruled_out(1000 + RelayMemory::kSure));
  EXPECT_FALSE(one.is_ruled_out(1001 + RelayMemory::kSure));
  one.forget_ruled_out(1002);
  EXPECT_FALSE(one.is_ruled_out(1003));
}

TEST_F(RelayMemoryTest, AServerThatForwardsNothingStaysRuledOutWhenItIsSeen) {
  const RelayMemory one = memory(kHost);
  one.confirm(1000);
  one.prohibit(1001);
  EXPECT_FALSE(one.is_confirmed(1002));
  one.forget_ruled_out(1002);
  EXPECT_TRUE(one.is_ruled_out(1003));
  EXPECT_FALSE(one.is_ruled_out(1001 + RelayMemory::kSure));
}

TEST_F(RelayMemoryTest, WhatGoesWellIsNotForgottenWithIt) {
  const RelayMemory one = memory(kHost);
  one.confirm(1000);
  one.forget_ruled_out(1001);
  one.begin(1002);
  EXPECT_FALSE(one.is_ruled_out(1003));
}

TEST_F(RelayMemoryTest, TellsAccountsAndWaysApart) {
  memory(kHost).rule_out(1000, RelayMemory::kSure);
  EXPECT_TRUE(memory(kHost).is_ruled_out(1001));
  EXPECT_FALSE(memory("user v\nhostname h\nport 22\n").is_ruled_out(1001));
  EXPECT_FALSE(memory("user u\nhostname h\nport 23\n").is_ruled_out(1001));
  EXPECT_FALSE(memory(kHost + "proxyjump j\n").is_ruled_out(1001));
  EXPECT_FALSE(memory(kHost + "proxycommand c\n").is_ruled_out(1001));
}

TEST_F(RelayMemoryTest, WithoutAPlaceNoAttemptBegins) {
  EXPECT_FALSE(RelayMemory("", SshConfig(kHost)).begin(1000));
}

}  // namespace
}  // namespace mcdtp
