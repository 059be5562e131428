#include "server/admin.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "common/core/exec_line.h"

namespace mcdtp {
namespace {

using Words = std::vector<std::string>;

TEST(Admin, WordsOfTheClientAreNotTheAdministrators) {
  EXPECT_FALSE(parse_admin_options({}));
  EXPECT_FALSE(parse_admin_options({"--protocol", "2", "--", "--forced"}));
  EXPECT_THROW(parse_server_words({"--protocol", std::to_string(kProtocolVersion), "--forced", "x"}),
               std::runtime_error);
  EXPECT_THROW(parse_server_words({"--protocol", std::to_string(kProtocolVersion), "--limits", "x"}),
               std::runtime_error);
}

TEST(Admin, OptionsAreRead) {
  const auto forced = parse_admin_options({"--forced", "a b", "--limits", "f", "--limits", "g"});
  ASSERT_TRUE(forced);
  EXPECT_EQ(forced->forced, "a b");
  EXPECT_EQ(forced->limits_files, (Words{"f", "g"}));
  EXPECT_TRUE(parse_admin_options({"--limits", "f", "--ask"})->asks);
  for (const Words& bad : std::vector<Words>{{"--forced"},
                                             {"--limits", "f"},
                                             {"--ask", "--forced", "x"},
                                             {"--ask", "--channels", "3"},
                                             {"--forced", "x", "-- y"}})
    EXPECT_THROW(parse_admin_options(bad), std::runtime_error);
}

ExecRequest request(const std::optional<std::string>& command) {
  ExecRequest asked;
  asked.channels = 7;
  asked.command = command;
  asked.log_path = asked.full_log_path = "/etc/passwd";
  asked.environment = {{"LC_X", "a b"}, {"LD_PRELOAD", "/x"}, {"GIT_PROTOCOL", "2"}, {"PATH", "/evil"}};
  return asked;
}

TEST(Admin, TheForcedCommandRunsAndHearsWhatWasAskedFor) {
  const auto options = forced_options("serve", build_exec_line(request("rm 'x' $y\n")));
  ASSERT_TRUE(options);
  EXPECT_EQ(options->channels, 7u);
  EXPECT_EQ(options->command, "serve");
  EXPECT_FALSE(options->policy.local_forwards || options->policy.remote_forwards);
  EXPECT_FALSE(options->log_path || options->full_log_path);
  const std::vector<std::pair<std::string, std::string>> wanted = {
      {"LC_X", "a b"}, {"GIT_PROTOCOL", "2"}, {"SSH_ORIGINAL_COMMAND", "rm 'x' $y\n"}};
  EXPECT_EQ(options->environment, wanted);
}

TEST(Admin, WithoutACommandThereIsNoOriginal) {
  const auto options = forced_options("serve", build_exec_line(request(std::nullopt)));
  ASSERT_TRUE(options);
  EXPECT_EQ(options->environment.size(), 2u);
  EXPECT_EQ(options->command, "serve");
}

TEST(Admin, ASubsystemIsOverruledToo) {
  ExecRequest asked = request("no-such");
  asked.subsystem = true;
  const auto options = forced_options("serve", build_exec_line(asked));
  ASSERT_TRUE(options);
  EXPECT_FALSE(options->subsystem);
  EXPECT_EQ(options->environment.back().second, "no-such");
}

TEST(Admin, AnotherClientGetsTheCommandAlone) {
  EXPECT_FALSE(forced_options("serve", std::nullopt));
  EXPECT_FALSE(forced_options("serve", "borg serve"));
  EXPECT_FALSE(forced_options("serve", "exec sh -c 'eval \"set -- $(printf %b \"a\\0\")\"; x'"));
  EXPECT_FALSE(forced_options("serve", "exec sh -c 'eval \"set -- $(printf %b \"a"));
  EXPECT_THROW(forced_options("serve", "exec sh -c 'eval \"set -- $(printf %b \"--what\")\"; x'"),
               std::runtime_error);
}

}  // namespace
}  // namespace mcdtp
