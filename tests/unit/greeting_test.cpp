#include "common/core/greeting.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace mcdtp {
namespace {

namespace fs = std::filesystem;
using Result = GreetingFinder::Result;

// A login shell as sshd runs it, by the names it may be installed under.
struct Shell {
  const char* name;
  std::vector<std::string> words;
};

const std::vector<Shell>& shells() {
  static const std::vector<Shell> list = {
      {"dash", {"/usr/bin/dash"}}, {"bash", {"/usr/bin/bash"}},
      {"fish", {"/usr/bin/fish"}}, {"tcsh", {"/usr/bin/tcsh"}},
      {"zsh", {"/usr/bin/zsh"}},   {"ksh", {"/usr/bin/ksh"}},
      {"mksh", {"/usr/bin/mksh"}}, {"busybox", {"/usr/bin/busybox", "sh"}}};
  return list;
}

struct Ran {
  std::string out;
  int status = 0;
};

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Runs `words` with only these environment strings; stdout goes by a file, so that nothing can block.
Ran run(const std::vector<std::string>& words, const std::vector<std::string>& environment,
        const fs::path& dir) {
  std::vector<char*> argv, envp;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  for (const std::string& e : environment) envp.push_back(const_cast<char*>(e.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const fs::path out = dir / "out";
  const pid_t pid = fork();
  if (pid == 0) {
    if (freopen(out.c_str(), "wb", stdout) && freopen("/dev/null", "rb", stdin) && chdir(dir.c_str()) == 0)
      execve(argv[0], argv.data(), envp.data());
    _exit(126);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return {read_file(out), WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

class ExecLine : public testing::TestWithParam<Shell> {
 protected:
  void SetUp() override {
    if (!fs::exists(GetParam().words[0])) GTEST_SKIP() << GetParam().name << " is not installed";
    std::string name = (fs::temp_directory_path() / "mcdtp-exec-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
    home_ = dir_ / "home";
    fs::create_directory(home_);
    environment_ = {"PATH=/usr/bin:/bin", "HOME=" + home_.string(), "SHELL=" + GetParam().words[0],
                    // A caller's own variables of short names must arrive as they are.
                    "c=c", "s=s", "LANG=C.UTF-8"};
    if (GetParam().words.size() > 1) environment_[2] = "SHELL=/bin/sh";
  }
  void TearDown() override {
    if (!dir_.empty()) fs::remove_all(dir_);
  }

  // A server that prints its arguments, each ended by NUL, and leaves 7.
  void install(const fs::path& path) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\nprintf 'server\\0'; printf '%s\\0' \"$@\"; exit 7\n";
    fs::permissions(path, fs::perms::owner_all);
  }

  Ran run_line(const ExecRequest& request) {
    const std::optional<std::string> line = build_exec_line(request);
    if (!line) return {"no line", -1};
    std::vector<std::string> words = GetParam().words;
    words.insert(words.end(), {"-c", *line});
    return run(words, environment_, dir_);
  }

  fs::path dir_, home_;
  std::vector<std::string> environment_;
};

INSTANTIATE_TEST_SUITE_P(Shells, ExecLine, testing::ValuesIn(shells()),
                         [](const auto& shell) { return shell.param.name; });

std::string nul_ended(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += word + '\0';
  return out;
}

std::vector<std::string> awkward_texts() {
  std::string every_byte;
  for (int b = 1; b < 256; ++b) every_byte += static_cast<char>(b);
  std::string high_pairs;
  for (int b = 0x80; b < 256; ++b) high_pairs += {static_cast<char>(b), '\''};
  return {"true",
          "",
          " ",
          "-n",
          "--",
          "--env",
          "it's \"quoted\" `here`",
          "two\nlines",
          "ends in newlines\n\n\n",
          "\n",
          "$HOME ${c} $(id) $$",
          "back\\slash \\\\ \\n \\0101 \\c end\\",
          "bang! !! !$ ^a^b",
          "%s %b %% 100%",
          "tab\tcr\r bell\a",
          "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x9f",
          "ends in half a character\xe2\x82",
          "glob * ? [a-z] {a,b} ~ ~root",
          "a;b&c|d<e>f(g)#h",
          "x=1 'a''b'",
          every_byte,
          high_pairs};
}

TEST_P(ExecLine, CommandReachesServerAsItIs) {
  install(dir_ / "stand-in");
  ExecRequest request;
  request.server_command = (dir_ / "stand-in").string();
  for (const std::string& command : awkward_texts()) {
    request.command = command;
    const Ran ran = run_line(request);
    EXPECT_EQ(ran.out, nul_ended({"server", "--protocol", "1", "--channels", "4", "--port-range",
                                  "60000-61000", "--memory", "268435456", "--cc", "auto", "--", command}))
        << "command: " << command;
    EXPECT_EQ(ran.status, 7);
  }
}

TEST_P(ExecLine, EveryOptionReachesServer) {
  install(home_ / "a dir's" / "ser ver");
  ExecRequest request;
  request.server_command = "~/a dir's/ser ver";
  request.channels = 64;
  request.ports = {1024, 65535};
  request.memory_bytes = 1;
  request.cc = "fixed";
  request.rate_bps = 80'000'000;
  request.subsystem = true;
  request.command = "sftp";
  request.environment = {{"LANG", "de_DE.UTF-8"}, {"GIT_PROTOCOL", "version=2:a b\n"}, {"LC_ALL", ""}};
  EXPECT_EQ(run_line(request).out, nul_ended({"server",     "--protocol",
                                              "1",          "--channels",
                                              "64",         "--port-range",
                                              "1024-65535", "--memory",
                                              "1",          "--cc",
                                              "fixed",      "--rate",
                                              "80000000",   "--subsystem",
                                              "--env",      "LANG=de_DE.UTF-8",
                                              "--env",      "GIT_PROTOCOL=version=2:a b\n",
                                              "--env",      "LC_ALL=",
                                              "--",         "sftp"}));
}

TEST_P(ExecLine, NoCommandHasNoSeparator) {
  install(dir_ / "stand-in");
  ExecRequest request;
  request.server_command = (dir_ / "stand-in").string();
  const std::string out = run_line(request).out;
  EXPECT_TRUE(out.ends_with(nul_ended({"--cc", "auto"}))) << out;
}

TEST_P(ExecLine, ServerIsFoundInUsualPlacesAndByName) {
  ExecRequest request;
  request.command = "echo plain";
  EXPECT_FALSE(run_line(request).out.starts_with("server"));
  install(home_ / ".local/bin/mcdtp-server");
  EXPECT_TRUE(run_line(request).out.starts_with("server"));
  install(dir_ / "path dir/mcdtp-dev");
  request.server_command = "mcdtp-dev";
  EXPECT_FALSE(run_line(request).out.starts_with("server"));
  environment_[0] += ":" + (dir_ / "path dir").string();
  EXPECT_TRUE(run_line(request).out.starts_with("server"));
}

TEST_P(ExecLine, WhatCannotRunIsNoServer) {
  std::ofstream(dir_ / "not-executable") << "text";
  ExecRequest request;
  request.command = "echo plain";
  for (const char* name : {"not-executable", "missing", "home"}) {
    request.server_command = (dir_ / name).string();
    EXPECT_TRUE(run_line(request).out.ends_with("\nMCDTP plain\nplain\n")) << name;
  }
}

TEST_P(ExecLine, PlainRunsCommandInLoginShell) {
  ExecRequest request;
  request.server_command = "/no/server";
  request.command = "echo out; exit 3";
  const Ran ran = run_line(request);
  EXPECT_TRUE(ran.out.ends_with("\nMCDTP plain\nout\n")) << ran.out;
  EXPECT_EQ(ran.status, 3);
}

TEST_P(ExecLine, PlainCommandIsByteForByte) {
  fs::path show = dir_ / "show";
  std::ofstream(show) << "#!/bin/sh\nprintf '%s\\0' \"$@\"\n";
  fs::permissions(show, fs::perms::owner_all);
  environment_[2] = "SHELL=" + show.string();
  ExecRequest request;
  request.server_command = "/no/server";
  for (const std::string& command : awkward_texts()) {
    request.command = command;
    EXPECT_TRUE(run_line(request).out.ends_with("\nMCDTP plain\n" + nul_ended({"-c", command}))) << command;
  }
}

TEST_P(ExecLine, PlainHandsOverEnvironmentAndAddsNothingOfItsOwn) {
  ExecRequest request;
  request.server_command = "/no/server";
  request.command = "env";
  request.environment = {{"GIT_PROTOCOL", "version=2 it's"}, {"LC_TIME", "C"}};
  std::istringstream out(run_line(request).out);
  std::vector<std::string> got;
  for (std::string line; std::getline(out, line);) got.push_back(line);
  for (const char* want : {"GIT_PROTOCOL=version=2 it's", "LC_TIME=C", "c=c", "s=s", "PATH=/usr/bin:/bin"})
    EXPECT_NE(std::find(got.begin(), got.end(), want), got.end()) << want;
  for (const std::string& line : got)
    EXPECT_EQ(line.find("mcdtp"), dir_.empty() ? 0 : line.find("mcdtp-exec")) << line;
}

TEST_P(ExecLine, PlainWithoutCommandIsLoginShell) {
  fs::path show = dir_ / "show";
  std::ofstream(show) << "#!/bin/sh\nprintf '%s\\0' \"$@\"\n";
  fs::permissions(show, fs::perms::owner_all);
  environment_[2] = "SHELL=" + show.string();
  ExecRequest request;
  request.server_command = "/no/server";
  EXPECT_TRUE(run_line(request).out.ends_with("\nMCDTP plain\n" + nul_ended({"-l"})));
}

TEST_P(ExecLine, SubsystemWithoutServerRunsNothing) {
  ExecRequest request;
  request.server_command = "/no/server";
  request.subsystem = true;
  request.command = "echo ran";
  const Ran ran = run_line(request);
  EXPECT_TRUE(ran.out.ends_with("\nMCDTP nosubsystem\n")) << ran.out;
  EXPECT_EQ(ran.status, 0);
}

TEST_P(ExecLine, LongCommand) {
  install(dir_ / "stand-in");
  ExecRequest request;
  request.server_command = (dir_ / "stand-in").string();
  request.command = "echo";
  for (int i = 0; request.command->size() < 90 * 1024; ++i) *request.command += "/word-" + std::to_string(i);
  for (int i = 0; i < 100; ++i) (*request.command)[static_cast<std::size_t>(i * 900 + 5)] = ' ';
  EXPECT_TRUE(run_line(request).out.ends_with(nul_ended({"--", *request.command})));
}

TEST(ExecLineText, HoldsNothingThatAShellReadsInSingleQuotes) {
  for (const std::string& text : awkward_texts()) {
    ExecRequest request;
    request.command = text;
    request.server_command = "~/" + text;
    request.cc = text;
    request.environment = {{"A", text}};
    const std::string line = build_exec_line(request).value();
    const std::string inner = line.substr(12, line.size() - 13);
    EXPECT_EQ(line, "exec sh -c '" + inner + "'");
    EXPECT_EQ(inner.find_first_of("'!\n\r"), inner.npos) << line;
    EXPECT_EQ(inner.find("\\\\"), inner.npos) << line;
    for (const char c : inner) EXPECT_TRUE(c >= ' ' && c <= '~');
  }
}

TEST(ExecLineText, ShortForShortCommand) {
  ExecRequest request;
  request.command = "true";
  EXPECT_LT(build_exec_line(request)->size(), 450u);
}

TEST(ExecLineText, UnsetWhereItCannotBeSaid) {
  ExecRequest request;
  request.command = std::string(kMaxExecLine - 1000, 'x');
  EXPECT_TRUE(build_exec_line(request));
  request.command = std::string(kMaxExecLine - 100, 'x');
  EXPECT_FALSE(build_exec_line(request));
  request.command = std::string(kMaxExecLine / 5, ' ');
  EXPECT_FALSE(build_exec_line(request));
  request.command = std::string(1, '\0');
  EXPECT_FALSE(build_exec_line(request));
  request.command = "true";
  for (const char* name : {"", "1A", "A-B", "A=B", "A B"}) {
    request.environment = {{name, "value"}};
    EXPECT_FALSE(build_exec_line(request)) << name;
  }
}

Greeting example() {
  Greeting g;
  for (std::size_t i = 0; i < g.secret.size(); ++i) g.secret[i] = static_cast<std::uint8_t>(i * 37);
  g.udp_ports = {60000, 60001, 1};
  g.tcp_port = 65535;
  g.address = "2001:db8::1";
  g.cipher = Cipher::kChaCha20Poly1305;
  return g;
}

const std::string kSecretHex = "00254a6f94b9de03284d7297bce1062b50759abfe4092e53789dc2e70c31567b";

TEST(GreetingLine, IsAsDocumented) {
  EXPECT_EQ(format_greeting(example()),
            "\nMCDTP 1 " + kSecretHex + " chacha20-poly1305 65535 60000,60001,1 2001:db8::1\n");
  Greeting g = example();
  g.udp_ports.clear();
  g.tcp_port.reset();
  g.address.clear();
  g.cipher = Cipher::kAes128Gcm;
  EXPECT_EQ(format_greeting(g), "\nMCDTP 1 " + kSecretHex + " aes-128-gcm - - -\n");
}

TEST(GreetingLine, RoundTrip) {
  Greeting g = example();
  EXPECT_EQ(parse_greeting(format_greeting(g)), g);
  g.udp_ports.clear();
  for (std::uint16_t i = 0; i < kMaxDatagramChannels; ++i)
    g.udp_ports.push_back(static_cast<std::uint16_t>(65535 - i));
  g.address = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255";
  EXPECT_EQ(parse_greeting(format_greeting(g)), g);
  EXPECT_LT(format_greeting(g).size(), GreetingFinder::kMaxLine);
  g = Greeting();
  EXPECT_EQ(parse_greeting(format_greeting(g)), g);
}

TEST(GreetingLine, StrictlyParsed) {
  const std::string good = format_greeting(example());
  ASSERT_TRUE(parse_greeting(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(parse_greeting(good.substr(0, i))) << i;
    std::string changed = good;
    changed[i] = ';';
    EXPECT_FALSE(parse_greeting(changed)) << changed;
    changed = good;
    changed.insert(i, " ");
    EXPECT_FALSE(parse_greeting(changed)) << changed;
    changed.erase(i, 2);
    const std::optional<Greeting> parsed = parse_greeting(changed);
    if (parsed) {
      EXPECT_EQ(format_greeting(*parsed), changed);
    }
  }
  EXPECT_FALSE(parse_greeting(good + "\n"));
  const std::string start = "\nMCDTP 1 " + kSecretHex + " aes-128-gcm ";
  ASSERT_TRUE(parse_greeting(start + "1 1 ::\n"));
  for (const char* end :
       {"0 1 ::", "01 1 ::", "65536 1 ::", "+1 1 ::", " 1 ::", "1 0 ::", "1 1,1 ::", "1 1, ::", "1 ,1 ::",
        "1 -,1 ::", "1 1 :", "1 1 fe80::1%eth0", "1 1 host.name", "1 1 :: ", "1 1 ::\r", "1 1"})
    EXPECT_FALSE(parse_greeting(start + end + "\n")) << end;
  std::string many = "2";
  for (int i = 3; i < 67; ++i) many += "," + std::to_string(i);
  EXPECT_FALSE(parse_greeting(start + "1 " + many + " ::\n"));
}

struct Outcome {
  Result result;
  std::string noise, rest;
  bool operator==(const Outcome&) const = default;
};

std::string text_of(Bytes data) { return {reinterpret_cast<const char*>(data.data()), data.size()}; }

// Feeds pieces of a size that `next_size` gives until a verdict; the rest counts as read from the stream.
template <typename Size>
Outcome find(GreetingFinder& finder, std::string_view text, Size next_size) {
  Result result = Result::kMore;
  while (result == Result::kMore && !text.empty()) {
    const std::size_t size = std::min<std::size_t>(next_size(), text.size());
    result = finder.feed(as_bytes(text.substr(0, size)));
    text.remove_prefix(size);
  }
  if (result == Result::kNone || result == Result::kMore)
    return {result, text_of(finder.noise()) + std::string(text), text_of(finder.rest())};
  return {result, text_of(finder.noise()), text_of(finder.rest()) + std::string(text)};
}

Outcome find(std::string_view text) {
  GreetingFinder finder;
  return find(finder, text, [] { return std::string::npos; });
}

TEST(GreetingFinder, FindsLineBetweenNoiseAndStream) {
  const std::string line = format_greeting(example());
  EXPECT_EQ(find(line), (Outcome{Result::kGreeting, "", ""}));
  EXPECT_EQ(find("motd\n" + line + line), (Outcome{Result::kGreeting, "motd\n", line}));
  EXPECT_EQ(find("no newline" + line + "out"), (Outcome{Result::kGreeting, "no newline", "out"}));
  EXPECT_EQ(find("\n\n\nMCDTP plain\n\n"), (Outcome{Result::kPlain, "\n\n", "\n"}));
  EXPECT_EQ(find("\nMCDTP nosubsystem\n"), (Outcome{Result::kNoSubsystem, "", ""}));
  EXPECT_EQ(find("noise"), (Outcome{Result::kMore, "noise", ""}));
  EXPECT_EQ(find(line.substr(0, line.size() - 1)).result, Result::kMore);
  GreetingFinder finder;
  find(finder, "x" + line, [] { return 1; });
  EXPECT_EQ(finder.greeting(), example());
}

TEST(GreetingFinder, MalformedLineIsNoise) {
  for (const std::string bad :
       {"\nMCDTP", "\nMCDTP ", "\nMCDTP plain ", "\nMCDTP 1 00", "\nMCDTP\n", "\n MCDTP plain"})
    EXPECT_EQ(find(bad + "\nMCDTP plain\nout"), (Outcome{Result::kPlain, bad, "out"})) << bad;
  EXPECT_EQ(find("MCDTP plain\n").result, Result::kMore);
  const std::string endless = "\nMCDTP " + std::string(5000, 'x');
  EXPECT_EQ(find(endless + "\nMCDTP plain\n"), (Outcome{Result::kPlain, endless, ""}));
}

TEST(GreetingFinder, NoiseIsBounded) {
  const std::string line = format_greeting(example());
  const std::string most(GreetingFinder::kMaxNoiseBytes, 'x');
  EXPECT_EQ(find(most + line + "y"), (Outcome{Result::kGreeting, most, "y"}));
  EXPECT_EQ(find(most + "x" + line), (Outcome{Result::kNone, most + "x" + line, ""}));
  EXPECT_EQ(find(most + "x").result, Result::kNone);
  const std::string lines(GreetingFinder::kMaxNoiseLines, '\n');
  EXPECT_EQ(find(lines + line).result, Result::kGreeting);
  EXPECT_EQ(find(lines + "\n" + line).result, Result::kNone);
}

// Against the plain definition: the first well-formed line within the bounds.
Outcome find_slowly(const std::string& text) {
  std::size_t lines = 0;
  for (std::size_t i = 0; i <= GreetingFinder::kMaxNoiseBytes && i < text.size(); ++i) {
    if (text[i] != '\n') continue;
    if (lines++ > GreetingFinder::kMaxNoiseLines) break;
    const std::string line = text.substr(i, text.find('\n', i + 1) + 1 - i);
    const auto at = [&](Result r) { return Outcome{r, text.substr(0, i), text.substr(i + line.size())}; };
    if (line == plain_line()) return at(Result::kPlain);
    if (line == no_subsystem_line()) return at(Result::kNoSubsystem);
    if (parse_greeting(line)) return at(Result::kGreeting);
  }
  return {Result::kMore, text, ""};
}

std::string random_text(std::mt19937& random) {
  const std::string line = format_greeting(example());
  std::string text;
  for (unsigned pieces = random() % 8; pieces > 0; --pieces) {
    switch (random() % 7) {
      case 0:
        text += "\n";
        break;
      case 1:
        text += line;
        break;
      case 2:
        text += line.substr(0, random() % line.size());
        break;
      case 3:
        text += "\nMCDTP ";
        break;
      case 4:
        text += plain_line().substr(0, 1 + random() % plain_line().size());
        break;
      case 5:
        text += no_subsystem_line();
        break;
      default:
        text += std::string(random() % 2000, "x M"[random() % 3]);
    }
  }
  return text;
}

TEST(GreetingFinder, SplitsNeverMatter) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_text(random);
    GreetingFinder finder;
    const unsigned largest = 1u << random() % 12;
    const Outcome got = find(finder, text, [&] { return 1 + random() % largest; });
    ASSERT_EQ(got, find_slowly(text)) << "round " << round << ":\n" << text;
    ASSERT_EQ(finder.greeting().has_value(), got.result == Result::kGreeting);
  }
}

}  // namespace
}  // namespace mcdtp
