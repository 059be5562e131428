#include "common/core/exec_line.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/core/sha256.h"
#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

namespace fs = std::filesystem;

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
        const fs::path& dir, const std::string& stdin_text = "") {
  std::vector<char*> argv, envp;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  for (const std::string& e : environment) envp.push_back(const_cast<char*>(e.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const fs::path out = dir / "out", in = dir / "in";
  std::ofstream(in, std::ios::binary) << stdin_text;
  const pid_t pid = fork();
  if (pid == 0) {
    if (freopen(out.c_str(), "wb", stdout) && freopen(in.c_str(), "rb", stdin) && chdir(dir.c_str()) == 0)
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
    fs::create_directory(home_);
    environment_ = {"PATH=/usr/bin:/bin", "HOME=" + home_.string(), "SHELL=" + GetParam().words[0],
                    // A caller's own variables of short names must arrive as they are.
                    "c=c", "s=s", "LANG=C.UTF-8"};
    if (GetParam().words.size() > 1) environment_[2] = "SHELL=/bin/sh";
  }

  // A server that prints its arguments, each ended by NUL, and leaves 7.
  void install(const fs::path& path) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\nprintf 'server\\0'; printf '%s\\0' \"$@\"; exit 7\n";
    fs::permissions(path, fs::perms::owner_all);
  }

  Ran run_line(const ExecRequest& request, const std::string& stdin_text = "") {
    const std::optional<std::string> line = build_exec_line(request);
    if (!line) return {"no line", -1};
    std::vector<std::string> words = GetParam().words;
    words.insert(words.end(), {"-c", *line});
    // Where the machine is so slow that it asks whether anybody still waits, nothing has run yet that matters here.
    Ran ran = run(words, environment_, dir_, stdin_text);
    const std::string start = request.start_word.empty() ? "" : start_line(request.start_word);
    for (int tries = 0; tries < 20 && ran.out.starts_with(start + std::string(slow_question())); ++tries)
      ran = run(words, environment_, dir_, stdin_text);
    return ran;
  }

  TemporaryFolder temporary_;
  const fs::path dir_ = temporary_.path(), home_ = dir_ / "home";
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
    EXPECT_EQ(ran.out, nul_ended({"server", "--protocol", "5", "--channels", "4", "--port-range",
                                  "60000-61000", "--cc", "auto", "--", command}))
        << "command: " << command;
    EXPECT_EQ(ran.status, 7);
  }
}

TEST_P(ExecLine, TheStartLineComesFirst) {
  ExecRequest request;
  request.start_word = "0123456789abcdef";
  request.command = "echo plain";
  EXPECT_EQ(run_line(request).out, start_line(request.start_word) + "\nMCDTP plain\nplain\n");
  install(home_ / ".local/bin/mcdtp-server");
  EXPECT_TRUE(run_line(request).out.starts_with(start_line(request.start_word) + "server"));
}

TEST_P(ExecLine, EveryOptionReachesServer) {
  install(home_ / "a dir's" / "ser ver");
  ExecRequest request;
  request.server_command = "~/a dir's/ser ver";
  request.channels = 64;
  request.ports = {1024, 65535};
  request.memory_bytes = 1;
  request.cc = "fixed";
  request.pacing = "even";
  request.coupling = Coupling::kNone;
  request.max_datagram = 1452;
  request.transport = Transport::kTcp;
  request.rate_bps = 80'000'000;
  request.max_rate_bps = 90'000'000;
  request.subsystem = true;
  request.command = "sftp";
  request.environment = {{"LANG", "de_DE.UTF-8"}, {"GIT_PROTOCOL", "version=2:a b\n"}, {"LC_ALL", ""}};
  EXPECT_EQ(run_line(request).out, nul_ended({"server",     "--protocol",
                                              "5",          "--channels",
                                              "64",         "--port-range",
                                              "1024-65535", "--memory",
                                              "1",          "--cc",
                                              "fixed",      "--pacing",
                                              "even",       "--coupling",
                                              "none",       "--mtu",
                                              "1452",       "--transport",
                                              "tcp",        "--rate",
                                              "80000000",   "--max-rate",
                                              "90000000",   "--subsystem",
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
  for (const std::string& line : got) EXPECT_EQ(line.find("mcdtp"), line.find("mcdtp-test")) << line;
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

// A server that can be sent, and its answer to --version.
std::string script_with_version(const std::string& version) {
  return "#!/bin/sh\nif [ \"$1\" = --version ]; then echo " + version +
         "; exit; fi\nprintf 'server\\0'; printf '%s\\0' \"$@\"; exit 7\n";
}

std::string sent(const std::string& server) {
  return "send " + std::to_string(server.size()) + " " + sha256_hex(server) + "\n" + server;
}

std::string machine() {
  utsname name{};
  uname(&name);
  return name.machine;
}

class ExecLineInstall : public ExecLine {
 protected:
  void SetUp() override {
    ExecLine::SetUp();
    request_.install_version = "9-test";
    request_.command = "echo plain";
    question_ = "\nMCDTP install " + machine() + "\n";
    served_ = nul_ended({"server", "--protocol", "5", "--channels", "4", "--port-range", "60000-61000",
                         "--cc", "auto", "--", "echo plain"});
    folder_ = home_ / ".cache/mcdtp/9-test" / machine();
  }
  // What stands in the folder.
  std::size_t files() const {
    return fs::exists(folder_) ? static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}))
                               : 0;
  }

  ExecRequest request_;
  std::string question_, served_;
  fs::path folder_;
  const std::string server_ = script_with_version("any");
};

INSTANTIATE_TEST_SUITE_P(Shells, ExecLineInstall, testing::ValuesIn(shells()),
                         [](const auto& shell) { return shell.param.name; });

TEST_P(ExecLineInstall, WhatIsSentRunsAndStays) {
  EXPECT_EQ(run_line(request_, sent(server_)).out, question_ + served_);
  EXPECT_EQ(read_file(folder_ / "mcdtp-server"), server_);
  EXPECT_EQ(fs::status(folder_ / "mcdtp-server").permissions(), fs::perms::owner_all);
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(run_line(request_).out, served_);
}

TEST_P(ExecLineInstall, WhatDoesNotRunAnyMoreIsSentAnew) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "mcdtp-server") << "#!/nonexistent\n";
  fs::permissions(folder_ / "mcdtp-server", fs::perms::owner_all);
  EXPECT_EQ(run_line(request_, sent(server_)).out, question_ + served_);
  EXPECT_EQ(read_file(folder_ / "mcdtp-server"), server_);
  EXPECT_EQ(files(), 1u);
}

TEST_P(ExecLineInstall, WhatIsNotWholeOrCannotRunIsNotKept) {
  std::string other = sent(server_);
  other.back() = 'x';
  const std::string broken = "no program\n";
  for (const std::string& text :
       {other, sent(server_).substr(0, 90), sent(broken), std::string("none\n"), std::string("send\n")}) {
    EXPECT_EQ(run_line(request_, text).out, question_ + "\nMCDTP plain\nplain\n") << text;
    EXPECT_EQ(files(), 0u);
  }
}

TEST_P(ExecLineInstall, WhereNobodyAnswersNothingRuns) {
  const Ran unanswered = run_line(request_, "");
  EXPECT_EQ(unanswered.out, question_);
  EXPECT_EQ(unanswered.status, 75);
  EXPECT_EQ(files(), 0u);
}

TEST_P(ExecLineInstall, NothingIsAskedWhereNothingCanBeWritten) {
  std::ofstream(home_ / ".cache") << "a file";
  EXPECT_EQ(run_line(request_, sent(server_)).out, "\nMCDTP plain\nplain\n");
}

TEST_P(ExecLineInstall, AServerOfThisVersionIsUsedAndAnotherWhereNoneCanBeInstalled) {
  const fs::path found = home_ / "bin/mcdtp-server";
  fs::create_directories(found.parent_path());
  std::ofstream(found) << script_with_version("mcdtp-server 0.0.1");
  fs::permissions(found, fs::perms::owner_all);
  EXPECT_EQ(run_line(request_, "none\n").out, question_ + served_);
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(run_line(request_, sent(server_)).out, question_ + served_);
  EXPECT_EQ(files(), 1u);
  fs::remove_all(home_ / ".cache");
  std::ofstream(home_ / ".cache") << "a file";
  EXPECT_EQ(run_line(request_, sent(server_)).out, served_);
  fs::remove(home_ / ".cache");
  std::ofstream(found) << script_with_version(server_version());
  EXPECT_EQ(run_line(request_).out, served_);
  EXPECT_EQ(files(), 0u);
}

TEST(ExecLineSlow, BehindASlowShellNothingRunsUnlessItIsAskedFor) {
  ExecRequest request;
  request.server_command = "/no/server";
  request.command = "echo ran";
  const std::string slow = "sleep 2.2; " + build_exec_line(request).value();
  const TemporaryFolder folder;
  const Ran unanswered = run({"/bin/sh", "-c", slow}, {"PATH=/usr/bin:/bin", "HOME=/"}, folder.path(), "");
  EXPECT_EQ(unanswered.out, slow_question());
  EXPECT_EQ(unanswered.status, 75);
}

// A name and a value as the server would get them, and stdin behind them.
TEST_P(ExecLine, WithoutAServerMoreVariablesAreAskedForToo) {
  const std::string value = "it's \"a\" $HOME `b` \\ \n\n";
  ExecRequest request;
  request.server_command = "/no/server";
  request.environment = {{"LC_A", "b"}};
  request.asks_environment = true;
  request.command = "sh -c 'printf %s \"$LC_A|$FIRST|$SECOND|\"; cat'";
  const auto answer =
      build_environment_line({{"FIRST", value}, {"BASH_FUNC_f%%", "() { :\n}"}, {"SECOND", ""}});
  EXPECT_EQ(run_line(request, *answer + "the input\n").out,
            "\nMCDTP env\n\nMCDTP plain\nb|" + value + "||the input\n");
  const Ran unanswered = run_line(request, "");
  EXPECT_EQ(unanswered.out, environment_question());
  EXPECT_EQ(unanswered.status, 75);
}

TEST_P(ExecLine, WithoutAServerASentShellIsAVariableAlone) {
  const fs::path show = dir_ / "show";
  std::ofstream(show) << "#!/bin/sh\nprintf '%s\\0' \"$SHELL\" \"$@\"\n";
  fs::permissions(show, fs::perms::owner_all);
  environment_[2] = "SHELL=" + show.string();
  ExecRequest request;
  request.server_command = "/no/server";
  request.environment = {{"LC_A", "b"}};
  request.asks_environment = true;
  const auto answer = build_environment_line({{"SHELL", "/sent"}});
  const std::string said = "\nMCDTP env\n\nMCDTP plain\n";
  EXPECT_EQ(run_line(request, *answer).out, said + nul_ended({"/sent", "-l"}));
  request.command = "a command";
  EXPECT_EQ(run_line(request, *answer).out, said + nul_ended({"/sent", "-c", "a command"}));
}

TEST_P(ExecLine, WhatNeedsAServerRunsNothingWithoutOne) {
  ExecRequest request;
  request.server_command = "/no/server";
  request.needs_server = true;
  request.remote_forwards = 2;
  request.environment = {{"A", "b"}};
  request.command = "echo ran";
  EXPECT_TRUE(run_line(request).out.ends_with("\nMCDTP nosubsystem\n"));
  request.no_command = true;
  EXPECT_TRUE(run_line(request).out.ends_with("\nMCDTP nosubsystem\n"));
}

TEST_P(ExecLine, ForwardsAreWordsForTheServer) {
  install(dir_ / "stand-in");
  ExecRequest request;
  request.server_command = (dir_ / "stand-in").string();
  request.needs_server = true;
  request.remote_forwards = 2;
  request.command = "id";
  EXPECT_TRUE(
      run_line(request).out.ends_with(nul_ended({"--remote-forwards", "2", "--no-plain", "--", "id"})));
  request.no_command = true;
  EXPECT_TRUE(
      run_line(request).out.ends_with(nul_ended({"--no-command", "--remote-forwards", "2", "--no-plain"})));
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
    request.install_version = "1.0-a_b";
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
  EXPECT_LT(build_exec_line(request)->size(), 620u);
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
  request.install_version = "a b";
  EXPECT_FALSE(build_exec_line(request));
  request.install_version = "";
  for (const char* name : {"", "1A", "A-B", "A=B", "A B"}) {
    request.environment = {{name, "value"}};
    EXPECT_FALSE(build_exec_line(request)) << name;
  }
}

}  // namespace
}  // namespace mcdtp
