#include "client/preferences.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "client/options.h"

namespace mcdtp {
namespace {

using Words = std::vector<std::string>;

Preferences with_file(const std::string& text) {
  Preferences all;
  all.path = "/home/me/config";
  all.home = "/home/me";
  all.text = text;
  return all;
}

constexpr const char* kFile =
    "# ours\n"
    "\n"
    "Host slow.example.org\n"
    "  Channels 16\n"
    "  channels 2\n"
    "Host *.example.org !big.example.org\n"
    "\tPortRange=50000-50010\r\n"
    "  port-range 1-2\n"
    "  Rate = \"20M\"\n"
    "  Log \"~/a log\"\n"
    "Host git? 10.*\n"
    "  Shim off\n"
    "Host *\n"
    "  Channels 8\n"
    "  Memory 64M # for all\n"
    "  Bootstrap ssh";

// What a host comes out with: channels, first port, cc, memory in MiB, log.
std::string settled(const Options& options) {
  return std::to_string(options.channels) + " " + std::to_string(options.ports.low) + " " +
         options.congestion + " " + std::to_string(options.memory_bytes.value_or(0) >> 20) + " " +
         options.log_path.value_or("-");
}

TEST(Preferences, FirstValueForTheHostCounts) {
  const Preferences all = with_file(kFile);
  struct Row {
    const char* host;
    const char* settled;
  };
  for (const Row& row : std::vector<Row>{{"slow.example.org", "16 50000 fixed 64 /home/me/a log"},
                                         {"SLOW.EXAMPLE.ORG", "16 50000 fixed 64 /home/me/a log"},
                                         {"me@x.example.org", "8 50000 fixed 64 /home/me/a log"},
                                         {"ssh://x.example.org:2222", "8 50000 fixed 64 /home/me/a log"},
                                         {"big.example.org", "8 60000 auto 64 -"},
                                         {"example.org", "8 60000 auto 64 -"},
                                         {"git", "8 60000 auto 64 -"}}) {
    SCOPED_TRACE(row.host);
    const Options got = parse_options(Words{row.host, "id"}, all);
    EXPECT_EQ(got.action, Action::kRun) << got.message;
    EXPECT_EQ(settled(got), row.settled);
    EXPECT_EQ(got.backend, BackendChoice::kSsh);
  }
}

TEST(Preferences, TheStrongerPlaceWins) {
  Preferences all = with_file("Channels 2\nCc fixed\nRate 1M\nPacing even\nMemory 16M\n");
  all.options = "--memory=32M -c '3' --log-full \"~/x y\"";
  const Options got = parse_options(Words{"-c", "4", "host", "-c5", "id"}, all);
  EXPECT_EQ(settled(got), "5 60000 fixed 32 -");
  EXPECT_EQ(got.rate_bits_per_second, 1'000'000u);
  EXPECT_EQ(got.pacing, "even");
  EXPECT_EQ(got.full_log_path, "/home/me/x y");
  all.options = "-c 3 -c 6";
  EXPECT_EQ(parse_options(Words{"host", "id"}, all).channels, 6u);
}

TEST(Preferences, ControlRateAndPacingGoTogether) {
  struct Row {
    const char* file;
    const char* variable;
    Words given;
    const char* result;
  };
  const std::vector<Row> rows = {
      {"Rate 1M\nPacing even", "", {"--cc", "auto"}, "auto - "},
      {"Rate 1M\nPacing even", "--cc=cubic", {}, "cubic - "},
      {"Cc cubic", "", {"--rate", "2M"}, "fixed 2000000 "},
      {"Rate 1M\nPacing even", "", {"--rate", "2M"}, "fixed 2000000 even"},
      {"Rate 1M", "", {"--pacing", "burst"}, "fixed 1000000 burst"},
      {"Cc cubic", "--rate 1M", {"--cc", "fixed"}, "fixed 1000000 "},
      {"Cc fixed", "", {"--rate", "1M"}, "fixed 1000000 "},
      {"Cc fixed", "", {}, "/home/me/config line 1: --cc fixed needs --rate, such as --rate 80M"},
      {"\nCc cubic", "", {"--pacing", "even"}, "--pacing is for --cc fixed, not for --cc cubic"},
      {"Cc cubic", "--pacing even", {}, "MCDTP_OPTIONS: --pacing is for --cc fixed, not for --cc cubic"},
  };
  for (const Row& row : rows) {
    Preferences all = with_file(row.file);
    all.options = row.variable;
    Words words = row.given;
    words.insert(words.end(), {"host", "id"});
    const Options got = parse_options(words, all);
    const auto rate = got.rate_bits_per_second;
    EXPECT_EQ(got.action == Action::kUsageError
                  ? got.message
                  : got.congestion + " " + (rate ? std::to_string(*rate) : "-") + " " + got.pacing,
              row.result);
  }
}

TEST(Preferences, TheSwitch) {
  struct Row {
    const char* variable;
    const char* host;
    Action action;
  };
  const std::vector<Row> rows = {
      {"", "host", Action::kRun},
      {"off", "host", Action::kHandOver},
      {"OFF", "host", Action::kHandOver},
      {"no", "host", Action::kHandOver},
      {"on", "host", Action::kRun},
      {"", "git1", Action::kHandOver},
      {"on", "git1", Action::kRun},
      {"", "10.0.0.1", Action::kHandOver},
      {"", "github.com", Action::kHandOver},
      {"on", "github.com", Action::kRun},
      {"", "ssh.github.com", Action::kHandOver},
      {"", "GitLab.com", Action::kHandOver},
      {"", "mygithub.com", Action::kRun},
      {"", "git-codecommit.eu-west-1.amazonaws.com", Action::kHandOver},
      {"maybe", "host", Action::kUsageError},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.variable) + " " + row.host);
    Preferences all = with_file(kFile);
    all.shim = row.variable;
    const Options got = parse_options(Words{"-c", "3", "-q", row.host, "id"}, all);
    EXPECT_EQ(got.action, row.action) << got.message;
    if (row.action == Action::kHandOver) {
      EXPECT_EQ(got.words_for_hand_over, (Words{"-q", row.host, "id"}));
    }
  }
  EXPECT_EQ(parse_options(Words{"github.com", "id"}, with_file("Host github.com\nShim on")).action,
            Action::kRun);
  EXPECT_TRUE(parse_options(Words{"host", "id"}, with_file("Shim on")).shim_wanted);
}

TEST(Preferences, EachMistakeIsNamedWithItsPlace) {
  const std::string at = "/home/me/config line ";
  const std::vector<std::array<std::string, 3>> rows = {
      {"Channels 65", "", at + "1: -c 65: the number of channels must be 1 to 64"},
      {"\n\nHost other\n Channels x", "", at + "4: -c x: the number of channels must be 1 to 64"},
      {"Host other\nRate fast", "", at + "2: --rate fast: give 1k to 1T bit/s, such as 80M, 1.5G or 500k"},
      {"# x\nFrobnicate 3", "", at + "2: there is no option frobnicate here"},
      {"Match host x", "", at + "1: there is no option match here"},
      {"Match all", "", at + "1: there is no option match here"},
      {"Help yes", "", at + "1: there is no option help here"},
      {"Memory", "", at + "1: there is no value, or a quote is not closed"},
      {"Host", "", at + "1: there is no value, or a quote is not closed"},
      {"Log \"x", "", at + "1: there is no value, or a quote is not closed"},
      {"Log a b", "", at + "1: more than one value for log"},
      {"Shim maybe", "", at + "1: Shim maybe: there are on and off"},
      {"", "--rate", "MCDTP_OPTIONS: --rate needs a value"},
      {"", "--mtu 5", "MCDTP_OPTIONS: --mtu 5: give 1200 to 65507, the bytes of UDP payload in a datagram"},
      {"", "--what=1", "MCDTP_OPTIONS: unknown option --what (mcdtp-shim --help lists them)"},
      {"", "-v", "MCDTP_OPTIONS: -v is none of our options"},
      {"", "-c aes128-ctr", "MCDTP_OPTIONS: -c is none of our options"},
      {"", "-c 3 host", "MCDTP_OPTIONS: host is none of our options"},
      {"", "-- -c 3", "MCDTP_OPTIONS: -- is none of our options"},
      {"", "--help", "MCDTP_OPTIONS: --help has no place here"},
      {"", "--relay", "MCDTP_OPTIONS: --relay has no place here"},
      {"", "--log 'x", "MCDTP_OPTIONS: a quote is not closed"},
  };
  for (const auto& [file, variable, sentence] : rows) {
    SCOPED_TRACE(file + "|" + variable);
    Preferences all = with_file(file);
    all.options = variable;
    const Options got = parse_options(Words{"host", "id"}, all);
    EXPECT_EQ(got.action, Action::kUsageError);
    EXPECT_EQ(got.message, sentence);
    // What needs no preferences goes on.
    EXPECT_EQ(parse_options(Words{"-t", "host", "id"}, all).action, Action::kHandOver);
    EXPECT_EQ(parse_options(Words{"--version"}, all).action, Action::kVersion);
    all.shim = "off";
    EXPECT_EQ(parse_options(Words{"host", "id"}, all).action, Action::kHandOver);
  }
}

TEST(Preferences, AnUnreadableFileStopsOnlyWhatNeedsIt) {
  Preferences all;
  all.file_error = "read it: no";
  EXPECT_EQ(parse_options(Words{"host", "id"}, all).message, "read it: no");
  EXPECT_EQ(parse_options(Words{"-G", "host"}, all).action, Action::kHandOver);
}

}  // namespace
}  // namespace mcdtp
