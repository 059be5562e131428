#include "client/jump_relay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "common/core/shell_words.h"

namespace mcdtp {
namespace {

const std::string kConfig = "user u\nhostname h.example\nport 22\n";

std::string described(const std::string& text) {
  const auto jump = parse_jump(text);
  if (!jump) return "nothing";
  return jump->user.value_or("-") + " " + jump->host + " " +
         (jump->port ? std::to_string(*jump->port) : "-") + " " + (jump->before.empty() ? "-" : jump->before);
}

// As `ssh -G` of OpenSSH 9.2 prints them.
TEST(JumpRelay, ReadsTheLastHostOfProxyJump) {
  EXPECT_EQ(described("gate"), "- gate - -");
  EXPECT_EQ(described("gate:2222"), "- gate 2222 -");
  EXPECT_EQ(described("me@gate:22"), "me gate 22 -");
  EXPECT_EQ(described("me@example.org@gate:22"), "me@example.org gate 22 -");
  EXPECT_EQ(described("[192.0.2.1]:22"), "- 192.0.2.1 22 -");
  EXPECT_EQ(described("me@[fe80::1%eth0]:22"), "me fe80::1%eth0 22 -");
  EXPECT_EQ(described("a@one:1,ssh://b@two:2,three"), "- three - a@one:1,ssh://b@two:2");
  for (const char* text : {"", "gate:", "gate:0", "gate:ssh", "gate:1:2", "[::1", "[]", "me@", "one,"})
    EXPECT_EQ(described(text), "nothing") << text;
}

class OverRelay : public testing::Test {
 protected:
  static Options options(const std::vector<std::string>& words) { return parse_options(words); }
  static std::vector<std::string> words(const std::vector<std::string>& given, const std::string& jump) {
    const auto way = over_relay(options(given), SshConfig(kConfig + "proxyjump " + jump + "\n"));
    return way ? way->ssh_words : std::vector<std::string>{};
  }
  // What ssh gives to a shell, but for the program.
  static std::string command(const std::vector<std::string>& given, const std::string& jump) {
    const auto all = words(given, jump);
    const std::string begin =
        "-oProxyCommand='" + std::filesystem::read_symlink("/proc/self/exe").string() + "' ";
    if (all.empty() || !all[0].starts_with(begin)) return "nothing";
    return all[0].substr(begin.size());
  }
};

TEST_F(OverRelay, CallsItselfAsSshWould) {
  EXPECT_EQ(command({"far", "true"}, "gate"), "--relay -W '[%h]:%p' -- 'gate'");
  EXPECT_EQ(command({"-vv", "-F", "a b", "far", "true"}, "x,me@gate:2222"),
            "--relay '-l' 'me' '-p' '2222' '-J' 'x' '-F' 'a b' '-v' '-v' -W '[%h]:%p' -- 'gate'");
}

// Not the other options of ssh, which are for the far host.
TEST_F(OverRelay, TellsHowDataAreToGo) {
  EXPECT_EQ(command({"-c",  "8",          "-i",   "key",      "-C",  "-p",    "5",    "--rate",
                     "8M",  "--pacing",   "even", "--memory", "16M", "--mtu", "1300", "--transport",
                     "tcp", "--coupling", "none", "--log",    "f",   "far",   "true"},
                    "gate"),
            "--relay '-c' '8' '--cc' 'fixed' '--pacing' 'even' '--coupling' 'none' '--transport' 'tcp' "
            "'--mtu' '1300' '--rate' '8000000' '--memory' '16777216' -W '[%h]:%p' -- 'gate'");
  EXPECT_EQ(command({"--max-rate", "1G", "far", "true"}, "gate"),
            "--relay '--max-rate' '1000000000' -W '[%h]:%p' -- 'gate'");
}

// By itself.
TEST_F(OverRelay, IsUnderstood) {
  const Options given =
      options({"-c", "8", "--rate", "8M", "--max-rate", "9M", "--pacing", "burst", "--transport", "tcp",
               "--coupling", "none", "--memory", "16M", "--mtu", "1300", "far", "true"});
  const auto way = over_relay(given, SshConfig(kConfig + "proxyjump me@gate:77\n"));
  ASSERT_TRUE(way);
  auto again = split_shell_words(way->ssh_words[0]);
  ASSERT_TRUE(again);
  again->erase(again->begin());
  std::replace(again->begin(), again->end(), std::string("[%h]:%p"), std::string("[h.example]:22"));
  const Options read = parse_options(*again);
  EXPECT_EQ(read.action, Action::kRun) << read.message;
  EXPECT_EQ(std::tuple(read.relay, read.host, read.user, read.port, read.stdio_forward),
            std::tuple(true, "gate", "me", 77, "[h.example]:22"));
  const auto way_of = [](const Options& o) {
    return std::tuple(o.channels, o.congestion, o.pacing, o.coupling, o.transport, o.max_datagram,
                      o.rate_bits_per_second, o.max_rate_bits_per_second, o.memory_bytes);
  };
  EXPECT_EQ(way_of(read), way_of(given));
}

TEST_F(OverRelay, QuotesForTheShellAndForSsh) {
  EXPECT_EQ(command({"-F", "it's 5%", "far", "true"}, "a'b@gate"),
            "--relay '-l' 'a'\\''b' '-F' 'it'\\''s 5%%' -W '[%h]:%p' -- 'gate'");
}

// ssh takes no -J beside a ProxyCommand, and would pass a descriptor.
TEST_F(OverRelay, TakesThePlaceOfJ) {
  const auto all =
      words({"-qJgate", "-l", "me", "-J", "gate", "-o", "ProxyJump=gate", "far", "true"}, "gate");
  ASSERT_GT(all.size(), 2U);
  EXPECT_EQ(std::vector<std::string>(all.begin() + 1, all.end()),
            (std::vector<std::string>{"-oProxyUseFdpass=no", "-q", "-l", "me", "-o", "ProxyJump=gate"}));
}

TEST_F(OverRelay, LeavesToSshWhatIsItsAlone) {
  EXPECT_TRUE(words({"--transport", "ssh", "far", "true"}, "gate").empty());
  EXPECT_TRUE(words({"far", "true"}, "none").empty());
  EXPECT_TRUE(words({"far", "true"}, "gate:").empty());
  // Tokens, which it expands.
  EXPECT_TRUE(words({"far", "true"}, "%r@gate").empty());
  // What it does otherwise where there is a ProxyCommand.
  EXPECT_TRUE(words({"far", "true"}, "gate\ncanonicalizehostname true").empty());
  EXPECT_FALSE(words({"far", "true"}, "gate\ncanonicalizehostname always").empty());
  EXPECT_FALSE(words({"far", "true"}, "gate\ncanonicalizehostname false").empty());
  EXPECT_TRUE(words({"far", "true"}, "gate\nconnecttimeout 9").empty());
  EXPECT_FALSE(words({"far", "true"}, "gate\nconnecttimeout 10").empty());
  EXPECT_FALSE(words({"far", "true"}, "gate\nconnecttimeout none").empty());
  // A loop, of which it has a word.
  EXPECT_TRUE(words({"far", "true"}, "far").empty());
  EXPECT_TRUE(words({"far", "true"}, "x,me@h.example:2").empty());
  EXPECT_FALSE(over_relay(options({"far", "true"}), SshConfig(kConfig)));
}

}  // namespace
}  // namespace mcdtp
