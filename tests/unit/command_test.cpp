#include "server/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <stdexcept>

#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

struct Outcome {
  std::string out;
  std::string err;
  std::optional<int> status;
};

// Waits for the event; a test that hangs is ended by ctest.
void wait_for(int fd, short events) {
  pollfd entry{fd, events, 0};
  while (poll(&entry, 1, -1) < 0 && errno == EINTR) {
  }
}

// All up to the end of file, which is there when the last holder of the other end is gone.
std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t size = read(fd, buffer.data(), buffer.size());
    if (size == 0) return text;
    if (size > 0) text.append(buffer.data(), static_cast<std::size_t>(size));
    if (size < 0 && errno != EAGAIN && errno != EINTR) return text + "[read: error]";
    if (size < 0) wait_for(fd, POLLIN);
  }
}

std::string read_line(int fd) {
  std::string text;
  char byte = 0;
  while (byte != '\n') {
    wait_for(fd, POLLIN);
    if (read(fd, &byte, 1) != 1) break;
    if (byte != '\n') text += byte;
  }
  return text;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    wait_for(fd, POLLOUT);
    const ssize_t size = write(fd, text.data(), text.size());
    if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
    if (size < 0 && errno != EAGAIN && errno != EINTR) return;
  }
}

std::optional<int> wait_for_end(Command& command) {
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(command.pid()), &info, WEXITED | WNOWAIT);
  return command.try_reap();
}

// For outputs and inputs that fit a pipe: 64 KiB.
Outcome run(const CommandSpec& spec, std::string_view input = "") {
  Command command(spec);
  write_all(command.stdin_pipe().get(), input);
  command.stdin_pipe().close();
  Outcome outcome;
  outcome.out = read_all(command.stdout_pipe().get());
  outcome.err = read_all(command.stderr_pipe().get());
  outcome.status = wait_for_end(command);
  return outcome;
}

// Of a user that no file knows.
Account account_of_environment() { return account_of_user("/dev/null"); }

CommandSpec login_shell() {
  CommandSpec spec;
  spec.account = account_of_environment();
  return spec;
}

CommandSpec line(std::string text) {
  CommandSpec spec = login_shell();
  spec.command = std::move(text);
  return spec;
}

// A directory of the test's own as home, with /bin/sh as the user's shell.
class CommandTest : public testing::Test {
 protected:
  CommandTest() {
    setenv("HOME", home_.c_str(), 1);
    setenv("SHELL", "/bin/sh", 1);
  }

  // Opened before anybody writes to it, so that its end of file says that all writers are gone.
  int make_fifo() {
    const std::string path = home_ / "fifo";
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    return open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }

  TemporaryFolder folder_;
  const std::filesystem::path& home_ = folder_.path();
};

TEST_F(CommandTest, StatusIsTheCommands) {
  for (const int status : {0, 1, 44, 127, 254, 255})
    EXPECT_EQ(run(line("exit " + std::to_string(status))).status, status);
  EXPECT_EQ(run(line("/nonexistent/program")).status, 127);
}

TEST_F(CommandTest, DeathByASignalIs255) {
  EXPECT_EQ(run(line("kill -9 $$")).status, 255);
  EXPECT_EQ(run(line("kill -TERM $$")).status, 255);
}

TEST_F(CommandTest, IsNotReapedBeforeItsEndAndStaysReaped) {
  Command command(line("cat"));
  EXPECT_EQ(command.try_reap(), std::nullopt);
  command.stdin_pipe().close();
  EXPECT_EQ(wait_for_end(command), 0);
  EXPECT_EQ(command.try_reap(), 0);
}

TEST_F(CommandTest, InputReachesItAndItsEndToo) {
  const Outcome outcome = run(line("cat; echo end"), "first\nsecond");
  EXPECT_EQ(outcome.out, "first\nsecondend\n");
  EXPECT_EQ(outcome.status, 0);
}

TEST_F(CommandTest, OutputAndErrorsStayApart) {
  const Outcome outcome = run(line("echo one; echo two >&2; echo three; echo four >&2"));
  EXPECT_EQ(outcome.out, "one\nthree\n");
  EXPECT_EQ(outcome.err, "two\nfour\n");
}

TEST_F(CommandTest, TheShellGetsTheCommandByteForByte) {
  EXPECT_EQ(run(line("printf '%s' 'a  b' \"c'd\" ; printf '\\\\'\nprintf %s \xc3\xa9\xff")).out,
            "a  bc'd\\\xc3\xa9\xff");
  EXPECT_EQ(run(line("")).status, 0);
}

TEST_F(CommandTest, RunsInTheHomeDirectory) { EXPECT_EQ(run(line("pwd -P")).out, home_.string() + "\n"); }

TEST_F(CommandTest, RunsWhereTheHomeDirectoryCannotBeEntered) {
  setenv("HOME", "/nonexistent", 1);
  const Outcome outcome = run(line("echo $HOME"));
  EXPECT_EQ(outcome.out, "/nonexistent\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(CommandTest, ShellKnowsItselfByItsBaseName) { EXPECT_EQ(run(line("echo $0")).out, "sh\n"); }

TEST_F(CommandTest, WithoutCommandALoginShellReadsItsInput) {
  const Outcome outcome = run(login_shell(), "echo $0\nexit 9\necho never\n");
  EXPECT_EQ(outcome.out, "-sh\n");
  EXPECT_EQ(outcome.status, 9);
}

TEST_F(CommandTest, ThePasswordFileCountsAndNotTheEnvironment) {
  setenv("SHELL", "/nonexistent/shell", 1);
  const std::string file = home_ / "passwd", uid = std::to_string(getuid());
  unsetenv("LOGNAME");
  unsetenv("USER");
  std::ofstream(file) << "other:x:4294967294:1::/:/bin/false\n# a word\nme:x:" << uid << ":1::/:/bin/sh\n"
                      << "again:x:" << uid << ":1::/tmp:/bin/bash\n";
  CommandSpec spec = line("echo $0; pwd; exit 3");
  spec.account = account_of_user(file);
  EXPECT_EQ(run(spec).out, "sh\n/\n");
  EXPECT_EQ(run(spec).status, 3);
  setenv("LOGNAME", "again", 1);
  EXPECT_EQ(account_of_user(file).shell, "/bin/bash");
  EXPECT_EQ(account_of_user(file).home, "/tmp");
  setenv("LOGNAME", "nobody", 1);
  EXPECT_EQ(account_of_user(file).shell, "/nonexistent/shell");
  unsetenv("SHELL");
  EXPECT_EQ(account_of_user(file).shell, "/bin/sh");
}

TEST_F(CommandTest, AShellThatCannotBeRunSaysSo) {
  setenv("SHELL", "/nonexistent/shell", 1);
  const Outcome outcome = run(line("exit 0"));
  EXPECT_EQ(outcome.err, "/nonexistent/shell: No such file or directory\n");
  EXPECT_EQ(outcome.status, 1);
}

TEST_F(CommandTest, EnvironmentIsOursWithTheAdditions) {
  setenv("MCDTP_TEST_KEPT", "kept", 1);
  setenv("MCDTP_TEST_REPLACED", "old", 1);
  CommandSpec spec =
      line("echo $MCDTP_TEST_KEPT $MCDTP_TEST_REPLACED \"$GIT_PROTOCOL\"; env | grep -c REPLACED=");
  spec.environment = {
      {"MCDTP_TEST_REPLACED", "older"}, {"GIT_PROTOCOL", "version=2 x"}, {"MCDTP_TEST_REPLACED", "new"}};
  EXPECT_EQ(run(spec).out, "kept new version=2 x\n1\n");
}

TEST_F(CommandTest, ItsThreeDescriptorsArePipesAndThereIsNoOther) {
  const int leaked = open("/dev/null", O_RDONLY);
  EXPECT_EQ(run(line("for i in 0 1 2; do test -p /dev/fd/$i && echo pipe; done")).out, "pipe\npipe\npipe\n");
  // 3 is the directory that ls reads.
  EXPECT_EQ(run(line("ls /proc/self/fd")).out, "0\n1\n2\n3\n");
  close(leaked);
}

TEST_F(CommandTest, OurEndsAreNonBlockingAndItsEndsAreNot) {
  Command command(line("cd /proc/$$/fdinfo; cat 0 1 2 | grep flags | grep -c '[4-7]...$'"));
  for (OwnedFd* pipe : {&command.stdin_pipe(), &command.stdout_pipe(), &command.stderr_pipe()}) {
    EXPECT_TRUE(fcntl(pipe->get(), F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(fcntl(pipe->get(), F_GETFD) & FD_CLOEXEC);
  }
  EXPECT_EQ(read_all(command.stdout_pipe().get()), "0\n");
  wait_for_end(command);
}

TEST_F(CommandTest, SignalsAreDefaultAndUnblockedInIt) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  const Outcome outcome = run(line("grep -E '^Sig(Blk|Ign)' /proc/self/status"));
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGHUP, SIG_DFL);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(outcome.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(CommandTest, StatusIsKnownWhereChildrenWereIgnored) {
  std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run(line("exit 6")).status, 6);
  std::signal(SIGCHLD, SIG_DFL);
}

TEST_F(CommandTest, LeadsASessionOfItsOwn) {
  Command command(line("cut -d' ' -f1,5,6 /proc/$$/stat"));
  const std::string pid = std::to_string(command.pid());
  EXPECT_EQ(read_all(command.stdout_pipe().get()), pid + " " + pid + " " + pid + "\n");
  wait_for_end(command);
}

TEST_F(CommandTest, HangUpEndsTheProcessGroup) {
  const int fifo = make_fifo();
  Command command(line("exec 3>fifo; sleep 1000 & echo ready; wait; echo never"));
  ASSERT_EQ(read_line(command.stdout_pipe().get()), "ready");
  command.hang_up();
  EXPECT_FALSE(command.stdin_pipe().is_open() || command.stdout_pipe().is_open() ||
               command.stderr_pipe().is_open());
  EXPECT_EQ(read_all(fifo), "");
  EXPECT_EQ(wait_for_end(command), 255);
  close(fifo);
}

TEST_F(CommandTest, HangUpComesOnceThoughWeEndToo) {
  const int fifo = make_fifo();
  const pid_t starter = fork();
  if (starter == 0) {
    Command command(
        line("exec 3>fifo; trap '' PIPE; trap 'echo hangup >&3' HUP; echo ready; until [ -e over ]; do sleep "
             "0.02; done"));
    read_line(command.stdout_pipe().get());
    command.hang_up();
    wait_for(fifo, POLLIN);
    command.hang_up();
    _exit(0);
  }
  int status = 0;
  waitpid(starter, &status, 0);
  EXPECT_EQ(read_line(fifo), "hangup");
  OwnedFd(creat((home_ / "over").c_str(), 0600)).close();
  EXPECT_EQ(read_all(fifo), "");
  close(fifo);
}

// However early: it may not yet lead its group, nor be the shell.
TEST_F(CommandTest, HangUpAtOnceEndsItToo) {
  std::deque<Command> commands;
  for (int i = 0; i < 20; ++i) commands.emplace_back(line("exec sleep 1000")).hang_up();
  for (Command& command : commands) EXPECT_EQ(wait_for_end(command), 255);
}

// What sees its stdin end, or its parent, has time to clean up, and what it leaves behind is none of ours.
TEST_F(CommandTest, WhatEndsByItselfIsNotHungUp) {
  const int fifo = make_fifo();
  Command command(
      line("exec 3>fifo; trap 'echo hangup >&3' HUP; "
           "{ until [ -e over ]; do sleep 0.02; done; echo lives >&3; } & "
           "echo ready; cat; echo cleaned >&3"));
  ASSERT_EQ(read_line(command.stdout_pipe().get()), "ready");
  command.hang_up();
  EXPECT_EQ(wait_for_end(command), 0);
  EXPECT_EQ(read_line(fifo), "cleaned");
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  OwnedFd(creat((home_ / "over").c_str(), 0600)).close();
  EXPECT_EQ(read_all(fifo), "lives\n");
  close(fifo);
}

// A background job's stdin is /dev/null unless it is given another descriptor.
TEST_F(CommandTest, AfterTheEndNobodyIsSignalled) {
  Command command(line("exec 3<&0; sh -c 'echo ready; read line; echo $line' <&3 & exit 4"));
  EXPECT_EQ(wait_for_end(command), 4);
  ASSERT_EQ(read_line(command.stdout_pipe().get()), "ready");
  const OwnedFd in(command.stdin_pipe().release());
  const OwnedFd out(command.stdout_pipe().release());
  command.hang_up();
  write_all(in.get(), "alive\n");
  EXPECT_EQ(read_all(out.get()), "alive\n");
}

TEST_F(CommandTest, ABackgroundJobHoldsTheOutputButNotTheStatus) {
  Command command(line("exec 3<&0; (read line; echo late) <&3 & exit 5"));
  EXPECT_EQ(wait_for_end(command), 5);
  char byte = 0;
  EXPECT_EQ(read(command.stdout_pipe().get(), &byte, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  command.stdin_pipe().close();
  EXPECT_EQ(read_all(command.stdout_pipe().get()), "late\n");
}

TEST_F(CommandTest, GetsAHangUpWhenWeAreKilled) {
  const int fifo = make_fifo();
  const pid_t starter = fork();
  if (starter == 0) {
    Command command(line("exec 3>fifo; echo ready; exec sleep 1000"));
    read_line(command.stdout_pipe().get());
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(starter, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_all(fifo), "");
  close(fifo);
}

// The shell's own death is not the end of what it started.
TEST_F(CommandTest, TheProcessGroupGetsAHangUpWhenWeAreKilled) {
  const int fifo = make_fifo();
  const pid_t starter = fork();
  if (starter == 0) {
    Command command(line("exec 3>fifo; sleep 1000 & echo ready; wait; echo never"));
    read_line(command.stdout_pipe().get());
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(starter, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_all(fifo), "");
  close(fifo);
}

TEST_F(CommandTest, ItsWaitSeesNoChildButItsOwn) {
  EXPECT_EQ(run(line("exec cat /proc/self/task/*/children")).out, "");
}

TEST_F(CommandTest, RunsWhereWeHaveNoStandardDescriptors) {
  const pid_t starter = fork();
  if (starter == 0) {
    for (const int fd : {0, 1, 2}) close(fd);
    const Outcome outcome = run(line("cat; echo err >&2"), "in");
    _exit(outcome.out == "in" && outcome.err == "err\n" && outcome.status == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(starter, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(CommandTest, SftpIsServedWhereItsProgramIs) {
  const std::optional<std::string> program = find_subsystem("sftp");
  if (!program) GTEST_SKIP() << "no sftp-server on this host";
  EXPECT_EQ(access(program->c_str(), X_OK), 0);
  Command command(
      {.command = "sftp", .subsystem = true, .environment = {}, .account = account_of_environment()});
  // INIT of version 3 is answered by VERSION (2).
  write_all(command.stdin_pipe().get(), {"\0\0\0\5\1\0\0\0\3", 9});
  wait_for(command.stdout_pipe().get(), POLLIN);
  command.stdin_pipe().close();
  const std::string answer = read_all(command.stdout_pipe().get());
  ASSERT_GT(answer.size(), 5U);
  EXPECT_EQ(answer[4], 2);
  EXPECT_EQ(wait_for_end(command), 0);
}

TEST_F(CommandTest, AnotherSubsystemIsRefused) {
  EXPECT_EQ(find_subsystem("netconf"), std::nullopt);
  EXPECT_EQ(find_subsystem("/bin/sh"), std::nullopt);
  try {
    Command command(
        {.command = "netconf", .subsystem = true, .environment = {}, .account = account_of_environment()});
    FAIL() << "it was started";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "start subsystem netconf: this host has no program for it");
  }
}

TEST_F(CommandTest, PlainBecomesTheCommand) {
  CommandSpec spec = line("echo $0 $$ $MCDTP_TEST_PLAIN $(pwd -P) >&2; exit 7");
  spec.environment = {{"MCDTP_TEST_PLAIN", "set"}};
  EXPECT_EXIT(run_plain(spec), testing::ExitedWithCode(7), "^sh [0-9]+ set " + home_.string() + "\n$");
  spec.account.shell = "/nonexistent";
  EXPECT_EXIT(run_plain(spec), testing::ExitedWithCode(1), "^/nonexistent: No such file or directory\n$");
}

TEST(OwnedFdTest, ClosesUnlessReleased) {
  const int fd = dup(0);
  { const OwnedFd owner(fd); }
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
  OwnedFd owner(open("/dev/null", O_RDONLY));
  const int released = owner.release();
  EXPECT_FALSE(owner.is_open());
  owner.close();
  EXPECT_NE(fcntl(released, F_GETFD), -1);
  OwnedFd target(released);
  target = OwnedFd();
  EXPECT_EQ(fcntl(released, F_GETFD), -1);
}

}  // namespace
}  // namespace mcdtp
