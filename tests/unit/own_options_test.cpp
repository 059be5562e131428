#include "client/own_options.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "common/core/congestion/congestion.h"

namespace mcdtp {
namespace {

using Words = std::vector<std::string>;

std::string join(const Words& words) {
  std::string out;
  for (const auto& word : words) out += "[" + word + "]";
  return out;
}

TEST(OwnOptions, AreTakenOutForTheRealSsh) {
  struct Row {
    Words words;
    Words hand_over;
  };
  const std::vector<Row> rows = {
      {{"-c", "8", "-G", "-p", "22", "host"}, {"-G", "-p", "22", "host"}},
      {{"-qc8", "-G", "host"}, {"-q", "-G", "host"}},
      {{"-Gqc", "8", "host"}, {"-Gq", "host"}},
      {{"-c8", "-c", "aes128-ctr", "-caes256-ctr", "-V"}, {"-c", "aes128-ctr", "-caes256-ctr", "-V"}},
      {{"--rate=80M", "--port-range", "1-2", "-V"}, {"-V"}},
      {{"-t", "host", "-c8", "top", "-c", "8"}, {"-t", "host", "top", "-c", "8"}},
      {{"-t", "--", "host", "-c8", "top"}, {"-t", "--", "host", "-c8", "top"}},
      {{"host", "-tc8", "--", "-c8"}, {"host", "-t", "--", "-c8"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(join(row.words));
    const Options got = parse_options(row.words);
    EXPECT_EQ(got.action, Action::kHandOver) << got.message;
    EXPECT_EQ(join(got.words_for_hand_over), join(row.hand_over));
  }
}

TEST(OwnOptions, DefaultsAndValues) {
  const Options none = parse_options(Words{"host", "id"});
  EXPECT_EQ(none.channels, 4u);
  EXPECT_EQ(none.ports.low, 60000);
  EXPECT_EQ(none.ports.high, 61000);
  EXPECT_EQ(none.congestion, "auto");
  EXPECT_EQ(none.coupling, Coupling::kCoupled);
  EXPECT_EQ(none.max_datagram, 65507u);
  EXPECT_EQ(none.memory_bytes, std::nullopt);
  EXPECT_EQ(none.backend, BackendChoice::kAuto);
  EXPECT_EQ(none.server_path, std::nullopt);
  const Options all = parse_options(Words{"-c", "9", "host", "-c64", "--port-range=5-5", "--rate", "1.5G",
                                          "--memory=64M", "--bootstrap", "ssh", "--server", "-odd", "id"});
  EXPECT_EQ(all.action, Action::kRun) << all.message;
  EXPECT_EQ(all.channels, 64u);
  EXPECT_EQ(all.ports.low, 5);
  EXPECT_EQ(all.ports.high, 5);
  EXPECT_EQ(all.congestion, "fixed");
  EXPECT_EQ(all.rate_bits_per_second, 1'500'000'000u);
  EXPECT_EQ(all.memory_bytes, 64u << 20);
  EXPECT_EQ(all.backend, BackendChoice::kSsh);
  EXPECT_EQ(all.server_path, "-odd");
  EXPECT_EQ(all.command, "id");
  const Options logs = parse_options(Words{"--log=a", "--log-full", "b", "h"});
  EXPECT_EQ(logs.log_path, "a");
  EXPECT_EQ(logs.full_log_path, "b");
  EXPECT_EQ(parse_options(Words{"--rate=500k", "h"}).rate_bits_per_second, 500'000u);
  EXPECT_EQ(parse_options(Words{"--cc=fixed", "--rate=80000", "h"}).rate_bits_per_second, 80'000u);
  EXPECT_EQ(parse_options(Words{"--coupling", "none", "h"}).coupling, Coupling::kNone);
  EXPECT_EQ(parse_options(Words{"--coupling=coupled", "h"}).coupling, Coupling::kCoupled);
  EXPECT_EQ(parse_options(Words{"--mtu", "1200", "h"}).max_datagram, 1200u);
  EXPECT_EQ(parse_options(Words{"--mtu=65507", "h"}).max_datagram, 65507u);
  EXPECT_EQ(parse_options(Words{"--transport", "tcp", "h"}).transport, Transport::kTcp);
  EXPECT_EQ(parse_options(Words{"--transport=ssh", "h"}).transport, Transport::kSsh);
  EXPECT_EQ(parse_options(Words{"--transport=ssh", "--transport=auto", "h"}).transport, Transport::kAuto);
  EXPECT_EQ(parse_options(Words{"--transport=ssh", "h"}).channels, 1u) << "a log-in each";
  EXPECT_EQ(parse_options(Words{"-c8", "--transport=ssh", "h"}).channels, 8u);
  EXPECT_EQ(parse_options(Words{"--max-rate", "80M", "h"}).max_rate_bits_per_second, 80'000'000u);
  EXPECT_EQ(parse_options(Words{"--max-rate", "80M", "h"}).congestion, "auto");
  EXPECT_EQ(parse_options(Words{"--help"}).action, Action::kHelp);
  EXPECT_EQ(parse_options(Words{"-q", "--version", "-c99"}).action, Action::kVersion);
  EXPECT_NE(help_text().find("--port-range"), std::string::npos);
}

TEST(OwnOptions, CongestionControlsByName) {
  for (const std::string_view name : kCongestionNames) {
    const std::string rate = name == "fixed" ? "--rate=1M" : "-4";
    const Options got = parse_options(Words{"--cc", std::string(name), rate, "h"});
    EXPECT_EQ(got.action, Action::kRun) << got.message;
    EXPECT_EQ(got.congestion, name);
    EXPECT_NE(help_text().find(name), std::string::npos);
  }
  EXPECT_EQ(parse_options(Words{"--cc=bbr", "h"}).message,
            "--cc bbr: there are auto, fixed, daimd, none and cubic");
  EXPECT_EQ(parse_options(Words{"--cc=cubic", "--rate=1M", "h"}).message,
            "--rate is for --cc fixed, not for --cc cubic");
}

TEST(OwnOptions, PacingIsOfFixed) {
  EXPECT_EQ(parse_options(Words{"h"}).pacing, "");
  EXPECT_EQ(parse_options(Words{"--rate=1M", "--pacing=even", "h"}).pacing, "even");
  EXPECT_EQ(parse_options(Words{"--pacing", "burst", "--cc=fixed", "--rate=1M", "h"}).pacing, "burst");
  EXPECT_EQ(parse_options(Words{"--pacing=odd", "--rate=1M", "h"}).message,
            "--pacing odd: there are even and burst");
  EXPECT_EQ(parse_options(Words{"--pacing=even", "h"}).message,
            "--pacing is for --cc fixed, not for --cc auto");
  EXPECT_EQ(parse_options(Words{"--pacing=burst", "--cc=none", "h"}).message,
            "--pacing is for --cc fixed, not for --cc none");
}

TEST(OwnOptions, Refuses) {
  const std::vector<Words> rows = {
      {"-c", "0", "host"},
      {"-c65", "host"},
      {"-c", "99999999999999999999", "host"},
      {"-qc65", "-V"},
      {"--port-range", "0-5", "host"},
      {"--port-range=6-5", "host"},
      {"--port-range=5", "host"},
      {"--port-range=5-65536", "host"},
      {"--port-range"},
      {"--cc=bbr", "host"},
      {"--cc=fixed", "host"},
      {"--cc", "auto", "--rate", "80M", "host"},
      {"--cc=cubic", "--rate=80M", "host"},
      {"--cc=Cubic", "host"},
      {"--cc=", "host"},
      {"--pacing=", "--rate=1M", "host"},
      {"--pacing=Even", "--rate=1M", "host"},
      {"--coupling=both", "host"},
      {"--coupling"},
      {"--transport=udp", "host"},
      {"--transport=", "host"},
      {"--transport"},
      {"--max-rate=0", "host"},
      {"--max-rate=fast", "host"},
      {"--mtu=1199", "host"},
      {"--mtu=65508", "host"},
      {"--mtu=9k", "host"},
      {"--mtu=-1500", "host"},
      {"--mtu=", "host"},
      {"--mtu"},
      {"--rate=", "host"},
      {"--rate=M", "host"},
      {"--rate=-5", "host"},
      {"--rate=1e5", "host"},
      {"--rate=999", "host"},
      {"--rate=2T", "host"},
      {"--memory=7M", "host"},
      {"--memory=64MB", "host"},
      {"--memory=nan", "host"},
      {"--bootstrap=telnet", "host"},
      {"--server=", "host"},
      {"--log=", "host"},
      {"--log"},
      {"--log-full=", "host"},
      {"--help=x"},
      {"--frob", "host"},
  };
  for (const Words& row : rows) {
    SCOPED_TRACE(join(row));
    const Options got = parse_options(row);
    EXPECT_EQ(got.action, Action::kUsageError);
    EXPECT_NE(got.message, "");
    EXPECT_EQ(got.message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace mcdtp
