#include "client/udp_memory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

namespace fs = std::filesystem;

class UdpMemoryTest : public testing::Test {
 protected:
  UdpMemory memory(const std::string& config) const { return UdpMemory(dir_.string(), SshConfig(config)); }

  TemporaryFolder folder_;
  const fs::path& dir_ = folder_.path();
};

const std::string kHost = "user u\nhostname h\nport 22\n";

TEST_F(UdpMemoryTest, HoldsUntilItsTimeIsOverOrItIsForgotten) {
  const UdpMemory one = memory(kHost);
  EXPECT_FALSE(one.is_blocked(1000));
  EXPECT_TRUE(one.remember(1000, true));
  EXPECT_TRUE(one.is_blocked(1000 + UdpMemory::kPeriod - 1));
  EXPECT_FALSE(one.is_blocked(1000 + UdpMemory::kPeriod));
  one.forget();
  EXPECT_FALSE(one.is_blocked(1000));
}

// However often it is renewed, and by whom in silence.
TEST_F(UdpMemoryTest, IsSaidOnce) {
  const UdpMemory one = memory(kHost);
  one.remember(1000, false);
  EXPECT_TRUE(one.is_blocked(1001));
  EXPECT_FALSE(one.was_said(1001));
  one.remember(1001, true);
  EXPECT_TRUE(one.was_said(1002));
  one.remember(1002, false);
  EXPECT_TRUE(one.was_said(1003));
  EXPECT_FALSE(one.was_said(1002 + UdpMemory::kPeriod));
}

// Whoever logs in there, by whatever name: the network is the same.
TEST_F(UdpMemoryTest, TellsHostsPortsAndWaysApart) {
  memory(kHost).remember(1000, false);
  EXPECT_TRUE(memory("user v\nhostname h\nport 22\nidentityfile ~/.ssh/two\n").is_blocked(1000));
  EXPECT_FALSE(memory("user u\nhostname i\nport 22\n").is_blocked(1000));
  EXPECT_FALSE(memory("user u\nhostname h\nport 23\n").is_blocked(1000));
  EXPECT_FALSE(memory(kHost + "proxyjump j\n").is_blocked(1000));
  EXPECT_FALSE(memory(kHost + "proxycommand c\n").is_blocked(1000));
}

TEST_F(UdpMemoryTest, WithoutAPlaceNothingIsRemembered) {
  const UdpMemory none("", SshConfig(kHost));
  EXPECT_FALSE(none.remember(1000, true));
  EXPECT_FALSE(none.is_blocked(1000));
}

}  // namespace
}  // namespace mcdtp
