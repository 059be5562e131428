#include "client/absent_memory.h"

#include <gtest/gtest.h>

#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

const std::string kHost = "user u\nhostname h\nport 22\nidentityfile ~/.ssh/one\n";
const std::string kCommands = AbsentMemory::kCommands;
const std::string kForwards = AbsentMemory::kForwards;
const std::string kSftp = AbsentMemory::subsystem("sftp");

class AbsentMemoryTest : public testing::Test {
 protected:
  AbsentMemory memory(const std::string& config) const {
    return {(folder_.path() / "a").string(), SshConfig(config)};
  }

  TemporaryFolder folder_;
};

TEST_F(AbsentMemoryTest, HoldsForADayAndForThatAlone) {
  const AbsentMemory one = memory(kHost);
  EXPECT_TRUE(one.remember(1000, kForwards, false));
  EXPECT_TRUE(one.holds(1000 + AbsentMemory::kPeriod - 1, kForwards));
  EXPECT_FALSE(one.holds(1000 + AbsentMemory::kPeriod, kForwards));
  EXPECT_FALSE(one.holds(1000, kSftp));
  EXPECT_FALSE(memory(kHost + "identityfile ~/.ssh/two\n").holds(1000, kForwards));
  EXPECT_TRUE(memory(kHost).holds(1000, kForwards));
}

TEST_F(AbsentMemoryTest, WhatWasSaidStaysSaidForADay) {
  const AbsentMemory one = memory(kHost);
  one.remember(1000, kForwards, false);
  EXPECT_FALSE(one.was_said(1000, kForwards));
  one.remember(1001, kForwards, true);
  EXPECT_TRUE(one.was_said(1001, kForwards));
  EXPECT_FALSE(one.was_said(1001, kCommands));
  one.remember(1002, kForwards, false);
  EXPECT_TRUE(one.was_said(1001 + AbsentMemory::kPeriod, kForwards));
  EXPECT_FALSE(one.was_said(1002 + AbsentMemory::kPeriod, kForwards));
}

TEST_F(AbsentMemoryTest, AServerThatIsFoundEndsIt) {
  const AbsentMemory one = memory(kHost);
  for (const std::string& need : {kCommands, kForwards, kSftp}) one.remember(1000, need, true);
  one.forget();
  EXPECT_FALSE(one.was_said(1000, kCommands));
  EXPECT_FALSE(one.holds(1000, kForwards));
  EXPECT_FALSE(one.holds(1000, kSftp));
}

TEST_F(AbsentMemoryTest, WithoutAPlaceNothingIsRemembered) {
  const AbsentMemory none("", SshConfig(kHost));
  EXPECT_FALSE(none.remember(1000, kForwards, true));
  EXPECT_FALSE(none.holds(1000, kForwards));
  EXPECT_FALSE(none.was_said(1000, kForwards));
  EXPECT_EQ(none.path(kForwards), "");
}

}  // namespace
}  // namespace mcdtp
