#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "server/options.h"

namespace mcdtp {
namespace {

ServerOptions parse(std::vector<const char*> words) {
  return parse_server_words({words.begin(), words.end()});
}

// The sentence of the refusal; empty where there was none.
std::string refusal(std::vector<const char*> words) {
  try {
    parse(std::move(words));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(ServerOptions, ByHandAllHaveDefaults) {
  const ServerOptions options = parse({});
  EXPECT_EQ(options.protocol, kProtocolVersion);
  EXPECT_EQ(options.channels, 4U);
  EXPECT_EQ(options.ports, (PortRange{60000, 61000}));
  EXPECT_EQ(options.memory_bytes, default_memory());
  EXPECT_EQ(options.cc, "auto");
  EXPECT_EQ(options.coupling, Coupling::kCoupled);
  EXPECT_EQ(options.max_datagram, 65507U);
  EXPECT_EQ(options.rate_bps, std::nullopt);
  EXPECT_FALSE(options.subsystem);
  EXPECT_EQ(options.command, std::nullopt);
  EXPECT_TRUE(options.environment.empty());
  EXPECT_EQ(options.print, std::nullopt);
}

TEST(ServerOptions, EachIsRead) {
  const ServerOptions options =
      parse({"--protocol", "5", "--channels", "64", "--port-range", "1-65535", "--memory", "8388608", "--cc",
             "fixed", "--rate", "80000000", "--subsystem", "--env", "GIT_PROTOCOL=version=2", "--env",
             "E=", "--", "sftp"});
  EXPECT_EQ(options.channels, 64U);
  EXPECT_EQ(options.ports, (PortRange{1, 65535}));
  EXPECT_EQ(options.memory_bytes, kMinMemory);
  EXPECT_EQ(options.cc, "fixed");
  EXPECT_EQ(options.rate_bps, 80000000U);
  EXPECT_TRUE(options.subsystem);
  EXPECT_EQ(options.command, "sftp");
  const std::vector<std::pair<std::string, std::string>> environment = {{"GIT_PROTOCOL", "version=2"},
                                                                        {"E", ""}};
  EXPECT_EQ(options.environment, environment);
}

TEST(ServerOptions, Forwards) {
  const ServerOptions options =
      parse({"--no-command", "--no-plain", "--no-forwards", "--remote-forwards", "3"});
  EXPECT_TRUE(options.no_command && options.no_plain);
  EXPECT_FALSE(options.policy.local_forwards || options.policy.remote_forwards);
  EXPECT_EQ(options.remote_forwards, 3U);
  const ServerOptions plain = parse({});
  EXPECT_FALSE(plain.no_command || plain.no_plain);
  EXPECT_EQ(plain.policy.gateway_ports, GatewayPorts::kNo);
  EXPECT_TRUE(plain.policy.local_forwards && plain.policy.remote_forwards);
  EXPECT_EQ(refusal({"--no-command", "--", "id"}), "read the options: --no-command and a command");
  EXPECT_TRUE(parse({"--protocol", "5", "--no-plain", "--", "id"}).no_plain);
}

TEST(ServerOptions, TheCommandIsNotLookedInto) {
  for (const char* command :
       {"", "--", "-x", "--help", "[a,b]", "{}", "%%", "a b", "'a' \"b\"", "a\nb\n", "\xc3\xa9\xff", "++"})
    EXPECT_EQ(parse({"--channels", "2", "--", command}).command, command);
}

TEST(ServerOptions, NorAreTheValuesOfVariables) {
  for (const char* value : {"A=[a,b]", "A={}", "A=--", "A=-x", "A=a b\n'\"", "A=%%", "A=\xff"})
    EXPECT_EQ(parse({"--env", value, "--", "c"}).environment.at(0).second, value + 2);
}

TEST(ServerOptions, RangesHaveTheirEnds) {
  EXPECT_EQ(refusal({"--channels", "0"}), "read the options: --channels: Value 0 not in range 1 to 64");
  EXPECT_NE(refusal({"--channels", "65"}), "");
  EXPECT_NE(refusal({"--channels", "-1"}), "");
  EXPECT_NE(refusal({"--memory", "1048575"}), "");
  EXPECT_NE(refusal({"--rate", "0"}), "");
  EXPECT_NE(refusal({"--rate", "fast"}), "");
  EXPECT_NE(refusal({"--protocol", "x"}), "");
}

TEST(ServerOptions, APortRangeIsTwoPortsInOrder) {
  for (const char* range : {"0-9", "9-8", "1-65536", "1", "1-", "-1", "a-b", "1-2-3", " 1-2", "+1-2"})
    EXPECT_NE(refusal({"--port-range", range}), "") << range;
  EXPECT_EQ(refusal({"--port-range", "9-8"}),
            "read the options: --port-range: 9-8 is not LOW-HIGH, two ports from 1 to 65535");
  EXPECT_EQ(parse({"--port-range", "7-7"}).ports, (PortRange{7, 7}));
}

TEST(ServerOptions, AStartWordIsPlain) {
  EXPECT_EQ(parse({"--start", "0af.-_/Z"}).start_word, "0af.-_/Z");
  EXPECT_EQ(parse({"--protocol", "1", "--start", "w", "--other"}).start_word, "w");
  for (const std::string& bad : {std::string("a b"), std::string("\n"), std::string(65, 'a')})
    EXPECT_THROW(parse({"--start", bad.c_str()}), std::runtime_error) << bad;
}

TEST(ServerOptions, AVariableHasAName) {
  for (const char* text : {"=x", "A", "1A=x", "A B=x", "A-B=x", "[A=x]", "\xc3\xa9=x"})
    EXPECT_NE(refusal({"--env", text}), "") << text;
}

TEST(ServerOptions, WhatIsIncompleteIsRefused) {
  EXPECT_EQ(refusal({"--", "a", "b"}), "read the options: exactly one word, the command, stands after --");
  EXPECT_NE(refusal({"--"}), "");
  EXPECT_EQ(refusal({"--subsystem"}), "read the options: --subsystem needs its name after --");
  EXPECT_EQ(parse({"--mtu", "1452"}).max_datagram, 1452U);
  EXPECT_NE(refusal({"--mtu", "1199"}), "");
  EXPECT_NE(refusal({"--mtu", "65508"}), "");
  EXPECT_NE(refusal({"--max-rate", "0"}), "");
  EXPECT_EQ(refusal({"--transport", "udp"}),
            "read the options: --transport udp: there are auto, tcp and ssh");
  EXPECT_EQ(parse({"--coupling", "none"}).coupling, Coupling::kNone);
  EXPECT_EQ(refusal({"--coupling", "both"}), "read the options: --coupling both: there are coupled and none");
  EXPECT_EQ(refusal({"--cc", "fixed"}), "read the options: --cc fixed needs --rate");
  EXPECT_EQ(refusal({"--cc", "fixed", "--rate", "5", "--pacing", "odd"}),
            "read the options: --pacing: there are even and burst");
  EXPECT_EQ(refusal({"--pacing", "even"}), "read the options: --pacing is for --cc fixed");
  EXPECT_NE(refusal({"--channels"}), "");
  EXPECT_EQ(refusal({"ls"}), "read the options: a word that is no option of ours; a command stands after --");
  EXPECT_NE(refusal({"--later"}), "");
}

TEST(ServerOptions, ARefusalIsOneLine) {
  for (const auto& words :
       std::vector<std::vector<const char*>>{{"--later"}, {"--rate", "x"}, {"--channels"}})
    EXPECT_EQ(refusal(words).find('\n'), std::string::npos);
}

TEST(ServerOptions, OfAnotherVersionOnlyTheCommandIsRead) {
  const ServerOptions options = parse({"--protocol", "6", "--channels", "many", "--later", "x", "--env",
                                       "A=b", "--subsystem", "--port-range", "auto", "--", "sftp"});
  EXPECT_EQ(options.protocol, 6);
  EXPECT_TRUE(options.subsystem);
  EXPECT_EQ(options.command, "sftp");
  EXPECT_EQ(options.environment.at(0).second, "b");
}

TEST(ServerOptions, HelpAndVersionAreToBePrinted) {
  EXPECT_EQ(parse({"--version"}).print, server_version() + "\n");
  const std::string help = parse({"--help"}).print.value_or("");
  EXPECT_NE(help.find("--port-range LOW-HIGH"), std::string::npos);
  EXPECT_NE(help.find("-- COMMAND"), std::string::npos);
}

// The exec line as a real shell runs it, with a server that tells its arguments, a NUL after each.
std::vector<std::string> words_of(const std::string& exec_line) {
  FILE* shell = popen(exec_line.c_str(), "r");
  std::vector<std::string> words(1);
  for (int byte = fgetc(shell); byte != EOF; byte = fgetc(shell)) {
    if (byte == 0)
      words.emplace_back();
    else
      words.back() += static_cast<char>(byte);
  }
  pclose(shell);
  words.pop_back();
  return words;
}

TEST(ServerOptions, TheExecLineArrives) {
  const std::string server = testing::TempDir() + "mcdtp-server-" + std::to_string(getpid());
  std::ofstream(server) << "#!/bin/sh\nprintf '%s\\0' \"$@\"\n";
  std::filesystem::permissions(server, std::filesystem::perms::owner_all);
  ExecRequest request;
  request.channels = 8;
  request.memory_bytes = 9 << 20;
  request.ports = {50000, 50010};
  request.cc = "fixed";
  request.pacing = "burst";
  request.rate_bps = 5;
  request.max_rate_bps = 4;
  request.transport = Transport::kSsh;
  request.log_path = "~/a 'log'";
  request.full_log_path = "/b";
  request.environment = {{"LANG", "C.UTF-8"}, {"X", "a 'b' \"c\"\n"}};
  request.server_command = server;
  request.command = "ls -l\n'$HOME' \\\xc3\xa9";
  const std::vector<std::string> words = words_of(build_exec_line(request).value());
  std::filesystem::remove(server);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  const ServerOptions options = parse(pointers);
  EXPECT_EQ(options.channels, request.channels);
  EXPECT_EQ(options.ports, request.ports);
  EXPECT_EQ(options.cc, request.cc);
  EXPECT_EQ(options.pacing, request.pacing);
  EXPECT_EQ(options.rate_bps, request.rate_bps);
  EXPECT_EQ(options.max_rate_bps, request.max_rate_bps);
  EXPECT_EQ(options.transport, request.transport);
  EXPECT_EQ(options.log_path, request.log_path);
  EXPECT_EQ(options.full_log_path, request.full_log_path);
  EXPECT_EQ(options.memory_bytes, request.memory_bytes);
  EXPECT_EQ(options.environment, request.environment);
  EXPECT_EQ(options.command, request.command);
}

}  // namespace
}  // namespace mcdtp
