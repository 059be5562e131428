#include "client/ssh_config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace mcdtp {
namespace {

// Lines of `ssh -G` of OpenSSH 9.2, as printed.
constexpr const char* kPrinted = R"(host far
user bob
hostname far.example.com
port 2222
addressfamily inet6
batchmode no
permitlocalcommand yes
pubkeyauthentication unbound
requesttty auto
stricthostkeychecking ask
updatehostkeys false
controlpath /root/.ssh/cm-bob@far.example.com:2222
ciphers chacha20-poly1305@openssh.com,aes128-ctr,aes192-ctr
localcommand echo hi
localforward 80 [localhost]:80
identityfile ~/.ssh/%r_key
identityfile /tmp/key with space
canonicaldomains none
globalknownhostsfile /etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2
userknownhostsfile none
sendenv LANG
sendenv LC_*
forwardagent no
connecttimeout none
tunnel false
rekeylimit 0 0
canonicalizePermittedcnames none
)";

TEST(SshConfig, ReadsWhatSshPrints) {
  const SshConfig config(kPrinted);
  EXPECT_EQ(config.host_name(), "far.example.com");
  EXPECT_EQ(config.user(), "bob");
  EXPECT_EQ(config.port(), 2222);
  EXPECT_EQ(config.address_family(), AddressFamily::kIpv6);
  EXPECT_EQ(config.connect_timeout(), std::nullopt);
  EXPECT_EQ(config.known_hosts_name(), "[far.example.com]:2222");
  EXPECT_EQ(config.text("localcommand"), "echo hi");
  EXPECT_EQ(config.lines("identityfile"), (std::vector<std::string>{"~/.ssh/%r_key", "/tmp/key with space"}));
  EXPECT_EQ(config.words("globalknownhostsfile"),
            (std::vector<std::string>{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}));
  EXPECT_EQ(config.list("ciphers"),
            (std::vector<std::string>{"chacha20-poly1305@openssh.com", "aes128-ctr", "aes192-ctr"}));
  EXPECT_EQ(config.text("canonicalizepermittedcnames"), "none");
}

TEST(SshConfig, OnAndOff) {
  const SshConfig config(kPrinted);
  for (const char* on : {"pubkeyauthentication", "permitlocalcommand", "controlpath"})
    EXPECT_TRUE(config.is_on(on));
  for (const char* off : {"batchmode", "tunnel", "userknownhostsfile", "forwardagent", "proxyjump"}) {
    EXPECT_FALSE(config.is_on(off)) << off;
  }
}

TEST(SshConfig, LogLevels) {
  for (const auto& [text, level] : {std::pair{"loglevel SILENT", LogLevel::kQuiet},
                                    {"loglevel QUIET", LogLevel::kQuiet},
                                    {"loglevel FATAL", LogLevel::kFatal},
                                    {"loglevel ERROR", LogLevel::kError},
                                    {"", LogLevel::kInfo},
                                    {"loglevel INFO", LogLevel::kInfo},
                                    {"loglevel VERBOSE", LogLevel::kVerbose},
                                    {"loglevel DEBUG", LogLevel::kVerbose},
                                    {"loglevel DEBUG3", LogLevel::kVerbose}})
    EXPECT_EQ(SshConfig(text).log_level(), level) << text;
}

TEST(SshConfig, OddText) {
  const SshConfig config(
      "port 99999\nconnecttimeout 7\nhostkeyalias Alias\nhostname h\n\nbare\naddressfamily inet");
  EXPECT_EQ(config.port(), std::nullopt);
  EXPECT_EQ(config.connect_timeout(), 7u);
  EXPECT_EQ(config.known_hosts_name(), "alias");
  EXPECT_EQ(config.text("bare"), "");
  EXPECT_EQ(config.address_family(), AddressFamily::kIpv4);
  EXPECT_EQ(SshConfig("").port(), std::nullopt);
}

class ExpandPath : public testing::Test {
 protected:
  std::optional<std::string> expand(const std::string& path) { return expand_path(path, tokens_); }

  PathTokens tokens_{"/home/me",
                     "far",
                     "far.example.com",
                     "alias",
                     "2222",
                     "bob",
                     "me",
                     "1000",
                     [](const std::string& name) -> std::optional<std::string> {
                       if (name == "KEYS") return "/keys";
                       return std::nullopt;
                     }};
};

TEST_F(ExpandPath, Tokens) {
  EXPECT_EQ(expand("~/.ssh/%r_key"), "/home/me/.ssh/bob_key");
  EXPECT_EQ(expand("~"), "/home/me");
  EXPECT_EQ(expand("%d/%h/%i/%k/%n/%p/%r/%u/%%"), "/home/me/far.example.com/1000/alias/far/2222/bob/me/%");
  EXPECT_EQ(expand("${KEYS}/a ~ $b"), "/keys/a ~ $b");
}

TEST_F(ExpandPath, WhatOnlySshCanTell) {
  for (const char* path : {"~root/key", "%C", "%L", "%l", "%", "a%", "${NONE}", "${KEYS"}) {
    EXPECT_EQ(expand(path), std::nullopt) << path;
  }
}

// The real ssh, asked for a configuration of our own.
TEST(AskSshForConfig, Resolves) {
  std::string path = testing::TempDir() + "/mcdtp-ssh-config-XXXXXX";
  const int file = mkstemp(path.data());
  ASSERT_GE(file, 0);
  close(file);
  std::ofstream(path)
      << "Host far\n  HostName %h.example.com\n  UserKnownHostsFile ~/kh_%h\n  IdentityFile ~/%r\n";
  const std::vector<std::string> words = {"-F", path, "-p", "2222", "bob@far", "true"};
  const auto config = ask_ssh_for_config(parse_options(words));
  ASSERT_TRUE(config);
  EXPECT_EQ(config->known_hosts_name(), "[far.example.com]:2222");
  EXPECT_EQ(config->user(), "bob");
  EXPECT_EQ(config->lines("identityfile"), std::vector<std::string>{"~/%r"});
  EXPECT_EQ(config->text("userknownhostsfile").front(), '/');
  std::ofstream(path) << "NoSuchKeyword yes\n";
  EXPECT_FALSE(ask_ssh_for_config(parse_options(words)));
  unlink(path.c_str());
}

TEST(DefaultConfig, FollowsTheOptions) {
  const std::vector<std::string> words = {"-4", "-p", "2222", "bob@far", "true"};
  const SshConfig config = default_config(parse_options(words), "me", "/home/me");
  EXPECT_EQ(config.known_hosts_name(), "[far]:2222");
  EXPECT_EQ(config.user(), "bob");
  EXPECT_EQ(config.address_family(), AddressFamily::kIpv4);
  EXPECT_EQ(config.words("userknownhostsfile").front(), "/home/me/.ssh/known_hosts");
}

}  // namespace
}  // namespace mcdtp
