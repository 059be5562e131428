#include "client/forwards.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <random>

#include "client/child_process.h"
#include "client/ssh_exec.h"

namespace mcdtp {
namespace {

using Kind = Forward::Kind;

Forward to_host(Kind kind, ListenEnd listen, std::string host, std::uint16_t port) {
  return {kind, std::move(listen), {std::move(host), port, ""}};
}
Forward to_path(Kind kind, ListenEnd listen, std::string path) {
  return {kind, std::move(listen), {"", 0, std::move(path)}};
}
ListenEnd any(std::uint16_t port) { return {std::nullopt, port, ""}; }
ListenEnd at(std::string bind, std::uint16_t port) { return {std::move(bind), port, ""}; }
ListenEnd in(std::string path) { return {std::nullopt, 0, std::move(path)}; }

struct Case {
  Kind kind;
  const char* argument;
  std::optional<Forward> wanted;
};

const Case kLocalCases[] = {
    {Kind::kLocal, "8080:h:80", to_host(Kind::kLocal, any(8080), "h", 80)},
    {Kind::kLocal, ":8080:h:80", to_host(Kind::kLocal, at("", 8080), "h", 80)},
    {Kind::kLocal, "*:8080:h:80", to_host(Kind::kLocal, at("*", 8080), "h", 80)},
    {Kind::kLocal, "127.0.0.1:8080:h:http", to_host(Kind::kLocal, at("127.0.0.1", 8080), "h", 80)},
    {Kind::kLocal, "[::1]:8080:[2001:db8::2]:80", to_host(Kind::kLocal, at("::1", 8080), "2001:db8::2", 80)},
    {Kind::kLocal, "8080:/run/x", to_path(Kind::kLocal, any(8080), "/run/x")},
    {Kind::kLocal, "lo:8080:/run/x", to_path(Kind::kLocal, at("lo", 8080), "/run/x")},
    {Kind::kLocal, "/run/a:h:80", to_host(Kind::kLocal, in("/run/a"), "h", 80)},
    {Kind::kLocal, "./a:./b", to_path(Kind::kLocal, in("./a"), "./b")},
    {Kind::kLocal, "[/run/a:b]:/run/c\\:d", to_path(Kind::kLocal, in("/run/a:b"), "/run/c:d")},
    {Kind::kLocal, " +80:h:090:", to_host(Kind::kLocal, any(80), "h", 90)},
    {Kind::kLocal, "80:h:90:\\", to_host(Kind::kLocal, any(80), "h", 90)},
    {Kind::kLocal, "${MCDTP_TEST}:h:9", to_host(Kind::kLocal, any(7000), "h", 9)},
    {Kind::kLocal, "80/h/90", std::nullopt},
    {Kind::kLocal, "", std::nullopt},
    {Kind::kLocal, "80", std::nullopt},
    {Kind::kLocal, "h:80", std::nullopt},
    {Kind::kLocal, "0:h:80", std::nullopt},
    {Kind::kLocal, "65536:h:80", std::nullopt},
    {Kind::kLocal, "-1:h:80", std::nullopt},
    {Kind::kLocal, "80:h:0", std::nullopt},
    {Kind::kLocal, "80:h:nosuchservice", std::nullopt},
    {Kind::kLocal, "b:80:h:90:9", std::nullopt},
    {Kind::kLocal, "b:80:h:90:\\", std::nullopt},
    {Kind::kLocal, "80:[::1:90", std::nullopt},
    {Kind::kLocal, "80:[::1]x:90", std::nullopt},
    {Kind::kLocal, "80:h:9\\", std::nullopt},
    {Kind::kLocal, "${MCDTP_UNSET}:h:9", std::nullopt},
    {Kind::kLocal, "${MCDTP_TEST:h:9", std::nullopt},
};

const Case kOtherCases[] = {
    {Kind::kRemote, "8080:h:80", to_host(Kind::kRemote, any(8080), "h", 80)},
    {Kind::kRemote, "0:h:80", to_host(Kind::kRemote, any(0), "h", 80)},
    {Kind::kRemote, "/a:/b", to_path(Kind::kRemote, in("/a"), "/b")},
    {Kind::kRemote, "8080", {{Kind::kRemoteDynamic, any(8080), {}}}},
    {Kind::kRemote, "[::1]:0", {{Kind::kRemoteDynamic, at("::1", 0), {}}}},
    {Kind::kRemote, "/a", {{Kind::kRemoteDynamic, in("/a"), {}}}},
    {Kind::kRemote, "80:h:0", std::nullopt},
    {Kind::kDynamic, "1080", {{Kind::kDynamic, any(1080), {}}}},
    {Kind::kDynamic, "socks", {{Kind::kDynamic, any(1080), {}}}},
    {Kind::kDynamic, ":1080", {{Kind::kDynamic, at("", 1080), {}}}},
    {Kind::kDynamic, "[::1]:1080", {{Kind::kDynamic, at("::1", 1080), {}}}},
    {Kind::kDynamic, "/a", {{Kind::kDynamic, in("/a"), {}}}},
    {Kind::kDynamic, "80:/p", to_path(Kind::kLocal, any(80), "/p")},
    {Kind::kDynamic, "0", std::nullopt},
    {Kind::kDynamic, "80:h:90", std::nullopt},
};

class Forwards : public testing::Test {
 protected:
  void SetUp() override {
    setenv("MCDTP_TEST", "7000", 1);
    unsetenv("MCDTP_UNSET");
  }
  void TearDown() override { unsetenv("MCDTP_TEST"); }
};

TEST_F(Forwards, Arguments) {
  for (const Case& c : kLocalCases) EXPECT_EQ(parse_forward(c.kind, c.argument), c.wanted) << c.argument;
  for (const Case& c : kOtherCases) EXPECT_EQ(parse_forward(c.kind, c.argument), c.wanted) << c.argument;
}

TEST_F(Forwards, LongestNames) {
  EXPECT_TRUE(parse_forward(Kind::kLocal, "80:/" + std::string(106, 'x')));
  EXPECT_FALSE(parse_forward(Kind::kLocal, "80:/" + std::string(107, 'x')));
  EXPECT_TRUE(parse_forward(Kind::kLocal, "80:" + std::string(1024, 'h') + ":9"));
  EXPECT_FALSE(parse_forward(Kind::kLocal, "80:" + std::string(1025, 'h') + ":9"));
}

TEST_F(Forwards, Stdio) {
  EXPECT_EQ(parse_stdio_forward("h:80"), (ForwardEnd{"h", 80, ""}));
  EXPECT_EQ(parse_stdio_forward("[::1]:ssh"), (ForwardEnd{"::1", 22, ""}));
  for (const char* bad : {"", "80", ":80", "h", "h:0", "h:80:9", "/run/x", "/a:/b", "[::1]"})
    EXPECT_EQ(parse_stdio_forward(bad), std::nullopt) << bad;
}

TEST_F(Forwards, AsSshPrintsThem) {
  const SshConfig config(
      "localforward [localhost]:80 [h]:90\ndynamicforward 81\nlocalforward 81 /run/x\ndynamicforward []:82\n"
      "localforward /a /b c\nremoteforward 0 [socks]:0\nremoteforward [*]:83 [::1]:93\ndynamicforward /a\n");
  const std::vector<Forward> wanted = {
      to_host(Kind::kLocal, at("localhost", 80), "h", 90),
      to_path(Kind::kLocal, any(81), "/run/x"),
      to_path(Kind::kLocal, in("/a"), "/b c"),
      {Kind::kDynamic, at("", 82), {}},
      {Kind::kRemoteDynamic, any(0), {}},
      to_host(Kind::kRemote, at("*", 83), "::1", 93),
  };
  EXPECT_EQ(configured_forwards(config), wanted);
  EXPECT_EQ(configured_forwards(SshConfig("port 22\n")), std::vector<Forward>());
  for (const char* odd : {"localforward /a /b /c", "localforward 80", "localforward 80 h", "dynamicforward x",
                          "remoteforward 80 [h]:x", "localforward"})
    EXPECT_EQ(configured_forwards(SshConfig(odd)), std::nullopt) << odd;
}

// What `ssh -G` prints of these words; unset where it refuses them.
std::optional<std::string> ask_ssh(std::vector<std::string> words) {
  words.insert(words.begin(), {"ssh", "-F", "none", "-G"});
  words.insert(words.end(), {"--", "h"});
  const std::string program = find_real_ssh();
  const std::vector<char*> pointers = exec_pointers(words);
  ChildProcess ssh([&] {
    close(STDERR_FILENO);
    execv(program.c_str(), pointers.data());
    return 255;
  });
  std::string printed;
  std::array<char, 4096> buffer{};
  for (ssize_t got; (got = read(ssh.stdout_fd(), buffer.data(), buffer.size())) > 0;)
    printed.append(buffer.data(), static_cast<std::size_t>(got));
  if (ssh.wait() != 0) return std::nullopt;
  return printed;
}

// One of the words that arguments are made of, good ones and bad ones.
std::string draw_argument(std::mt19937& random) {
  static const std::array<const char*, 24> kWords = {"80",
                                                     "8080",
                                                     "0",
                                                     "65536",
                                                     "http",
                                                     "h",
                                                     "far.example",
                                                     "127.0.0.1",
                                                     "[::1]",
                                                     "[fe80::1",
                                                     "::",
                                                     "*",
                                                     "",
                                                     "/a",
                                                     "./b/c",
                                                     "[/d:e]",
                                                     "x\\:y",
                                                     "\\/z",
                                                     "\\",
                                                     "${MCDTP_TEST}",
                                                     "${MCDTP_UNSET}",
                                                     "+7",
                                                     "-0",
                                                     " 9"};
  std::string argument;
  const int fields = 1 + static_cast<int>(random() % 5);
  for (int i = 0; i < fields; ++i) {
    if (i > 0) argument += ':';
    argument += kWords[random() % kWords.size()];
  }
  return argument;
}

// The same arguments for ssh: what it prints, read back, is what was parsed here.
TEST_F(Forwards, AreTakenAsSshTakesThem) {
  const std::array<std::pair<Kind, std::string>, 3> kinds = {
      {{Kind::kLocal, "-L"}, {Kind::kRemote, "-R"}, {Kind::kDynamic, "-D"}}};
  std::mt19937 random(1);
  int taken = 0;
  const auto compare = [&](Kind kind, const std::string& letter, const std::string& argument) {
    const auto ours = parse_forward(kind, argument);
    const auto printed = ask_ssh({letter, argument});
    EXPECT_EQ(ours.has_value(), printed.has_value()) << letter << ' ' << argument;
    if (!ours || !printed) return;
    EXPECT_EQ(configured_forwards(SshConfig(*printed)), std::vector<Forward>{*ours})
        << letter << ' ' << argument;
    ++taken;
  };
  for (const auto& [kind, letter] : kinds) {
    for (const Case& c : kLocalCases) compare(kind, letter, c.argument);
    for (const Case& c : kOtherCases) compare(kind, letter, c.argument);
    for (int i = 0; i < 80; ++i) compare(kind, letter, draw_argument(random));
  }
  EXPECT_GT(taken, 60);
}

}  // namespace
}  // namespace mcdtp
