#include "common/io/getent.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace mcdtp {
namespace {

using Words = std::vector<std::string>;

TEST(Getent, EachAddressOnceInItsOrder) {
  EXPECT_EQ(
      parse_ahosts("::1             STREAM localhost\n::1             DGRAM  \n::1             RAW    \n"
                   "127.0.0.1       STREAM \n127.0.0.1       DGRAM  \n"),
      (Words{"::1", "127.0.0.1"}));
  EXPECT_EQ(parse_ahosts("fe80::1%eth0 STREAM x"), Words{"fe80::1%eth0"});
  EXPECT_EQ(parse_ahosts("\n\n"), Words{});
  EXPECT_EQ(parse_ahosts(""), Words{});
}

TEST(Getent, AsksTheHostsOwn) {
  if (access("/usr/bin/getent", X_OK) != 0) GTEST_SKIP() << "no getent here";
  const Words found = ask_getent("localhost");
  EXPECT_TRUE(std::find(found.begin(), found.end(), "127.0.0.1") != found.end() ||
              std::find(found.begin(), found.end(), "::1") != found.end());
  EXPECT_THROW(ask_getent("no-such..host"), std::runtime_error);
  for (const char* bad : {"", "-s", "--help"}) EXPECT_THROW(ask_getent(bad), std::runtime_error);
}

}  // namespace
}  // namespace mcdtp
