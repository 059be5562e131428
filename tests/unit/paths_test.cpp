#include "common/core/paths.h"

#include <gtest/gtest.h>

#include <limits>

namespace mcdtp {
namespace {

using Ids = std::vector<PathId>;
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

TEST(Paths, FirstCandidateThatAnswersWins) {
  Paths paths;
  paths.set_candidates({1, 2, 3});
  EXPECT_EQ(paths.unproved(), (Ids{1, 2, 3}));
  EXPECT_FALSE(paths.active());
  EXPECT_EQ(paths.on_covered(2, true), Paths::Proof::kActive);
  EXPECT_EQ(paths.active(), 2u);
  EXPECT_TRUE(paths.unproved().empty());
  EXPECT_EQ(paths.on_covered(1, true), Paths::Proof::kNone);
  EXPECT_EQ(paths.active(), 2u);
}

TEST(Paths, OnlyTheNewestPacketMakesANewAddressCount) {
  Paths paths;
  EXPECT_FALSE(paths.on_packet(9, 1200, false));
  EXPECT_FALSE(paths.reply());
  EXPECT_TRUE(paths.on_packet(9, 1200, true));
  EXPECT_EQ(paths.reply(), 9u);
  EXPECT_EQ(paths.on_covered(8, true), Paths::Proof::kNone);
  EXPECT_EQ(paths.on_covered(9, true), Paths::Proof::kActive);
}

TEST(Paths, AnUnprovedAddressGetsThreeTimesWhatCameFromIt) {
  Paths paths;
  paths.on_packet(9, 100, true);
  EXPECT_EQ(paths.allowance(9), 300u);
  paths.on_sent(9, 250);
  EXPECT_EQ(paths.allowance(9), 50u);
  paths.on_sent(9, 100);
  EXPECT_EQ(paths.allowance(9), 0u);
  paths.on_packet(9, 100, false);
  EXPECT_EQ(paths.allowance(9), 250u);
  EXPECT_EQ(paths.allowance(8), 0u);
  paths.set_candidates({1});
  EXPECT_EQ(paths.allowance(1), kUnlimited);
}

TEST(Paths, DataMayGoEarlyToOurOwnChoiceOrAValidatedAddress) {
  Paths client;
  EXPECT_FALSE(client.early());
  client.set_candidates({1, 2});
  EXPECT_EQ(client.early(), 1u);
  client.on_packet(2, 1200, true);
  EXPECT_EQ(client.early(), 2u) << "heard from";
  client.on_covered(2, true);
  EXPECT_FALSE(client.early()) << "there is a proof";

  Paths server;
  server.on_packet(9, 1200, true);
  EXPECT_FALSE(server.early());
  server.on_validated(9);
  EXPECT_EQ(server.early(), 9u);
  EXPECT_EQ(server.allowance(9), kUnlimited);
  server.on_packet(8, 1200, true);
  EXPECT_FALSE(server.early()) << "moved to where nobody has logged in from";
  EXPECT_EQ(server.allowance(8), 3600u);
}

TEST(Paths, AnAddressThatIsOnlyExpectedIsProbedForAWhile) {
  Paths server;
  EXPECT_TRUE(server.expect(5));
  EXPECT_FALSE(server.expect(5));
  EXPECT_EQ(server.unproved(), Ids{5});
  EXPECT_FALSE(server.early()) << "nothing has come from there";
  EXPECT_FALSE(server.reply());
  server.on_sent(5, Paths::kUnheardBytes - 100);
  EXPECT_EQ(server.allowance(5), 100u);
  EXPECT_EQ(server.on_covered(5, true), Paths::Proof::kNone) << "anybody can say so";
  server.doubt();
  EXPECT_EQ(server.unproved(), Ids{5});
  EXPECT_TRUE(server.on_packet(5, 50, true)) << "it is there: to be probed at once";
  EXPECT_EQ(server.allowance(5), kUnlimited);
  EXPECT_EQ(server.early(), 5u);
  EXPECT_EQ(server.on_covered(5, true), Paths::Proof::kActive);
}

TEST(Paths, NobodyIsExpectedWhoWasHeardFromElsewhere) {
  Paths server;
  server.on_packet(9, 1200, true);
  EXPECT_FALSE(server.expect(5));
  EXPECT_EQ(server.unproved(), Ids{9});
  EXPECT_TRUE(server.on_packet(5, 50, true)) << "but it may move there";
  EXPECT_EQ(server.allowance(5), kUnlimited) << "the host that has logged in";
}

TEST(Paths, OurOwnChoiceIsProbedAtOnceWhenItIsFirstHeardFrom) {
  Paths client;
  client.set_candidates({1, 2, 3});
  EXPECT_TRUE(client.on_packet(2, 50, true));
  EXPECT_FALSE(client.on_packet(2, 50, true));
  EXPECT_TRUE(client.on_packet(1, 50, true));
  EXPECT_FALSE(client.on_packet(2, 50, true)) << "known to be there";
  client.on_covered(1, true);
  EXPECT_FALSE(client.on_packet(3, 50, true)) << "there is a way";
}

TEST(Paths, TheOldAddressStaysUntilTheNewEchoes) {
  Paths paths;
  paths.on_packet(1, 1200, true);
  paths.on_covered(1, true);
  EXPECT_TRUE(paths.on_packet(2, 50, true));
  EXPECT_EQ(paths.active(), 1u);
  EXPECT_EQ(paths.unproved(), Ids{2});
  EXPECT_EQ(paths.allowance(2), 150u);
  EXPECT_FALSE(paths.on_packet(2, 50, true));
  EXPECT_EQ(paths.on_covered(2, true), Paths::Proof::kActive);
  EXPECT_EQ(paths.active(), 2u);
  // And back.
  EXPECT_TRUE(paths.on_packet(1, 50, true));
  EXPECT_EQ(paths.on_covered(1, true), Paths::Proof::kActive);
  EXPECT_EQ(paths.active(), 1u);
}

// The echo of one probe comes when the peer has moved on already: the next one is still wanted.
TEST(Paths, APeerThatMovesTwiceIsFollowedTwice) {
  Paths paths;
  paths.on_packet(1, 1200, true);
  paths.on_covered(1, true);
  paths.on_packet(2, 50, true);
  paths.on_packet(3, 50, true);
  EXPECT_EQ(paths.on_covered(2, true), Paths::Proof::kActive);
  EXPECT_EQ(paths.unproved(), Ids{3});
  EXPECT_EQ(paths.on_covered(3, true), Paths::Proof::kActive);
  EXPECT_EQ(paths.active(), 3u);
  EXPECT_TRUE(paths.unproved().empty());
}

// One that is back where it was is not looked for elsewhere.
TEST(Paths, APeerThatComesBackIsFollowedNoMore) {
  Paths paths;
  paths.on_packet(1, 1200, true);
  paths.on_covered(1, true);
  EXPECT_TRUE(paths.on_packet(2, 50, true));
  EXPECT_FALSE(paths.on_packet(1, 50, true));
  EXPECT_TRUE(paths.unproved().empty());
  EXPECT_EQ(paths.on_covered(2, true), Paths::Proof::kNone);
  EXPECT_EQ(paths.active(), 1u);
}

// What little it may be sent at first says that it can be reached, and not that it carries data.
TEST(Paths, ASmallPacketProvesNoPath) {
  Paths paths;
  paths.on_packet(1, 50, true);
  EXPECT_EQ(paths.on_covered(1, false), Paths::Proof::kReachable);
  EXPECT_FALSE(paths.active());
  EXPECT_EQ(paths.unproved(), Ids{1});
  EXPECT_EQ(paths.allowance(1), kUnlimited);
  EXPECT_EQ(paths.on_covered(1, false), Paths::Proof::kNone);
  EXPECT_EQ(paths.on_covered(1, true), Paths::Proof::kActive);
}

TEST(Paths, OnlyOwnCandidatesAreOthersToo) {
  Paths paths;
  paths.set_candidates({1});
  EXPECT_FALSE(paths.chosen());
  paths.on_covered(1, true);
  EXPECT_EQ(paths.chosen(), 1u);
  paths.on_packet(7, 1200, true);
  paths.on_covered(7, true);
  EXPECT_EQ(paths.active(), 7u);
  EXPECT_FALSE(paths.chosen());
}

// Much more was sent there than came from it: the limit must not forbid the probe that would bring it back.
TEST(Paths, ADoubtedAddressThatOnceEchoedMayBeProbed) {
  Paths paths;
  paths.on_packet(1, 1200, true);
  paths.on_covered(1, true);
  paths.on_sent(1, 1'000'000);
  paths.doubt();
  EXPECT_FALSE(paths.active());
  EXPECT_EQ(paths.unproved(), Ids{1});
  EXPECT_EQ(paths.allowance(1), kUnlimited);
  EXPECT_EQ(paths.on_covered(1, true), Paths::Proof::kActive);
}

TEST(Paths, AddressesAreBounded) {
  Paths paths;
  paths.set_candidates({1});
  for (PathId id = 2; id < 1000; ++id) paths.on_packet(id, 100, true);
  EXPECT_LE(paths.unproved().size(), 17u);
  EXPECT_EQ(paths.unproved().front(), 1u);
  EXPECT_EQ(paths.reply(), 999u);
}

}  // namespace
}  // namespace mcdtp
