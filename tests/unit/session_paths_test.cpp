#include <gtest/gtest.h>

#include "tests/unit/two_ways.h"

namespace mcdtp {
namespace {

constexpr ChannelId kChannels = TwoWays::kChannels;

// Only the first channel has the candidates; another that finds out later that the way is dead follows it all the same.
TEST(SessionPaths, AllChannelsFindTheWayThatIsLeft) {
  TwoWays sessions;
  sessions.cut(1);
  sessions.pass(seconds(3));
  for (ChannelId id = 0; id < kChannels; ++id) ASSERT_EQ(sessions.active(id), 0u) << id;
  sessions.cut(0);
  sessions.use({0});
  sessions.write();
  sessions.pass(seconds(3));
  ASSERT_EQ(sessions.active(0), 1u);
  sessions.use({0, 1, 2});
  sessions.pass(seconds(120));
  for (ChannelId id = 0; id < kChannels; ++id) EXPECT_EQ(sessions.active(id), 1u) << id;
}

// And one that found out when nobody knew another way does so when the first does, though a third still trusts the old.
TEST(SessionPaths, WhoWasDoubtedFirstFollowsToo) {
  TwoWays sessions;
  sessions.cut(1);
  sessions.pass(seconds(3));
  sessions.cut(0);
  sessions.use({1});
  sessions.write();
  sessions.pass(seconds(3));
  ASSERT_EQ(sessions.active(1), std::nullopt);
  ASSERT_EQ(sessions.active(0), 0u);
  sessions.use({0, 1});
  sessions.write();
  sessions.pass(seconds(30));
  EXPECT_EQ(sessions.active(0), 1u);
  EXPECT_EQ(sessions.active(1), 1u);
}

// By then the server asks every ten seconds only.
TEST(SessionPaths, WhoWakesUpIsFoundAtOnce) {
  TwoWays sessions;
  sessions.pass(seconds(3));
  sessions.answer();
  sessions.sleep(seconds(62));
  ASSERT_FALSE(sessions.server_has_proved(0));
  sessions.write();
  sessions.pass(milliseconds(500));
  EXPECT_TRUE(sessions.server_has_proved(0));
}

// While bytes move the SSH connection is not idle; without any it is, as ssh's own would be.
TEST(SessionPaths, SshSpeaksNowAndThenWhileBytesGoElsewhere) {
  TwoWays sessions;
  sessions.pass(seconds(60));
  const PacketNumber idle = sessions.by_ssh();
  sessions.pass(seconds(60));
  EXPECT_EQ(sessions.by_ssh(), idle);
  for (int second = 0; second < 60; ++second) {
    sessions.write();
    sessions.pass(seconds(1));
  }
  EXPECT_GE(sessions.by_ssh(), idle + 3);
  EXPECT_LE(sessions.by_ssh(), idle + 10);
}

}  // namespace
}  // namespace mcdtp
