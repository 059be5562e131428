#include "client/login_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "common/io/system.h"

namespace mcdtp {
namespace {

constexpr Duration kLong = seconds(1000);

class LoginWatchTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe(ends_.data()), 0); }
  void TearDown() override {
    for (int fd : ends_) close(fd);
  }
  int far_side() const { return ends_[0]; }
  void far_side_speaks() { ASSERT_EQ(write(ends_[1], "x", 1), 1); }

  std::array<int, 2> ends_{};
};

TEST_F(LoginWatchTest, SilenceAfterTheLogInIsNotice) {
  LoginWatch watch(milliseconds(5));
  watch.ssh_words();
  kill(getpid(), SIGUSR1);
  EXPECT_FALSE(watch.wait_readable(far_side()));
  EXPECT_TRUE(watch.is_logged_in());
}

// rsync ends its ssh so, in the middle of a log-in, too.
TEST_F(LoginWatchTest, TheSameSignalFromWhoHasStartedUsEndsUs) {
  const pid_t child = fork();
  if (child == 0) {
    LoginWatch watch(kLong);
    watch.ssh_words();
    far_side_speaks();
    watch.wait_readable(far_side());
    std::array<int, 2> silent{};
    if (pipe(silent.data()) != 0) _exit(1);
    watch.wait_readable(silent[0]);
    _exit(2);
  }
  char word = 0;
  while (read(far_side(), &word, 1) != 1) {
  }
  kill(child, SIGUSR1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1) << status;
}

TEST_F(LoginWatchTest, WordsRenewPatienceButNotForEver) {
  constexpr Duration kPatience = milliseconds(20);
  constexpr int kTimes = 1000;
  const Time begin = now();
  LoginWatch watch(kPatience);
  watch.logged_in();
  EXPECT_FALSE(watch.wait_readable(far_side()));
  watch.something_came();
  EXPECT_FALSE(watch.wait_readable(far_side()));
  EXPECT_GE(now() - begin, 2 * kPatience);
  for (int i = 0; i < kTimes; ++i) {
    watch.something_came();
    EXPECT_FALSE(watch.wait_readable(far_side()));
  }
  EXPECT_LT(now() - begin, kTimes / 2 * kPatience);
}

TEST_F(LoginWatchTest, WordsBeforeTheLogInEndTheWait) {
  LoginWatch watch(milliseconds(0));
  far_side_speaks();
  EXPECT_TRUE(watch.wait_readable(far_side()));
  EXPECT_FALSE(watch.is_logged_in());
}

TEST_F(LoginWatchTest, WordsAfterTheLogInEndTheWait) {
  LoginWatch watch(kLong);
  watch.ssh_words();
  kill(getpid(), SIGUSR1);
  far_side_speaks();
  EXPECT_TRUE(watch.wait_readable(far_side()));
  EXPECT_TRUE(watch.is_logged_in());
}

TEST_F(LoginWatchTest, PatienceCountsFromTheFirstSign) {
  LoginWatch watch(milliseconds(5));
  watch.logged_in();
  EXPECT_FALSE(watch.wait_readable(far_side()));
  watch.logged_in();
  EXPECT_FALSE(watch.wait_readable(far_side()));
}

// A stopped job, as by Ctrl-Z: whoever logs in for us stood still as well.
TEST_F(LoginWatchTest, PatienceDoesNotPassWhileWeAreStopped) {
  constexpr Duration kPatience = seconds(1), kStop = seconds(1), kOnePiece = milliseconds(100);
  const pid_t watcher = fork();
  if (watcher == 0) {
    std::array<int, 2> silent{};
    if (pipe(silent.data()) != 0) _exit(2);
    LoginWatch watch(kPatience);
    watch.logged_in();
    const Time began = now();
    far_side_speaks();
    const bool came = watch.wait_readable(silent[0]);
    _exit(came || now() - began < kStop + kPatience - 2 * kOnePiece ? 1 : 0);
  }
  std::array<char, 1> word;
  ASSERT_EQ(read(far_side(), word.data(), 1), 1);
  kill(watcher, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(watcher, &status, WUNTRACED), watcher);
  if (!WIFSTOPPED(status)) GTEST_SKIP() << "its patience was over before it was stopped";
  usleep(static_cast<useconds_t>(kStop.count() / 1000));
  kill(watcher, SIGCONT);
  ASSERT_EQ(waitpid(watcher, &status, 0), watcher);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(LoginWatchTest, TheLocalCommandTells) {
  LoginWatch watch(milliseconds(5));
  const auto words = watch.ssh_words();
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0], "-oPermitLocalCommand=yes");
  const std::string start = "-oLocalCommand=";
  ASSERT_TRUE(words[1].starts_with(start));
  ASSERT_EQ(std::system(words[1].substr(start.size()).c_str()), 0);
  EXPECT_TRUE(watch.is_logged_in());
}

TEST_F(LoginWatchTest, ASignalNotLookedAtEndsNobody) {
  {
    LoginWatch watch(kLong);
    watch.ssh_words();
    kill(getpid(), SIGUSR1);
  }
  sigset_t blocked;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
  EXPECT_EQ(sigismember(&blocked, SIGUSR1), 0);
  std::signal(SIGUSR1, SIG_DFL);
}

TEST_F(LoginWatchTest, ASignalThatComesLateEndsNobodyAndNoneIsAwaitedTwice) {
  const auto is_ignored = [] {
    struct sigaction action {};
    sigaction(SIGUSR1, nullptr, &action);
    return action.sa_handler == SIG_IGN;
  };
  { LoginWatch never_asked(kLong); }
  EXPECT_FALSE(is_ignored());
  {
    LoginWatch told(kLong);
    told.ssh_words();
    kill(getpid(), SIGUSR1);
  }
  EXPECT_FALSE(is_ignored());
  {
    LoginWatch still_to_be_told(kLong);
    still_to_be_told.ssh_words();
  }
  EXPECT_TRUE(is_ignored());
  std::signal(SIGUSR1, SIG_DFL);
}

}  // namespace
}  // namespace mcdtp
