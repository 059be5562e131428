#include "client/ssh_exec.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// A folder of its own, and MCDTP_REAL_SSH and PATH as they were, for each test.
class SshExec : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::getenv("PATH") ? std::getenv("PATH") : "";
    unsetenv("MCDTP_REAL_SSH");
  }
  void TearDown() override {
    unsetenv("MCDTP_REAL_SSH");
    setenv("PATH", path_.c_str(), 1);
  }

  // A shell script `name` in our folder.
  std::string script(const std::string& name, const std::string& body) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    chmod(path.c_str(), 0755);
    return path;
  }
  void use(const std::string& program) { setenv("MCDTP_REAL_SSH", program.c_str(), 1); }

  TemporaryFolder temporary_;
  const fs::path& folder_ = temporary_.path();
  std::string path_;
};

std::string read_to_end(int fd) {
  std::string out;
  char buffer[512];
  for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;) out.append(buffer, got);
  return out;
}

// Runs `body` in a child of its own with the write end of a pipe, and returns what it wrote there.
template <typename Body>
std::string written_by_child(Body body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    body(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  std::string out = read_to_end(ends[0]);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return out;
}

std::string message_of_find() {
  try {
    return "found " + find_real_ssh();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST_F(SshExec, FindsTheFirstInPathThatIsNotThisProgram) {
  fs::create_directories(folder_ / "symbolic");
  fs::create_symlink(fs::read_symlink("/proc/self/exe"), folder_ / "symbolic/ssh");
  fs::create_directories(folder_ / "directory/ssh");
  chmod(script("plain/ssh", "").c_str(), 0644);
  const std::string real = script("real/ssh", "");
  const std::string search = folder_.string() + "/symbolic:" + folder_.string() +
                             "/directory:" + folder_.string() + "/plain:" + folder_.string() + "/none:";
  setenv("PATH", (search + folder_.string() + "/real").c_str(), 1);
  EXPECT_EQ(find_real_ssh(), real);
  setenv("PATH", search.c_str(), 1);
  EXPECT_NE(message_of_find().find("MCDTP_REAL_SSH can name it"), std::string::npos);
}

TEST_F(SshExec, TheVariableNamesIt) {
  const std::string real = script("other", "");
  use(real);
  EXPECT_EQ(find_real_ssh(), real);
  use("/proc/self/exe");
  EXPECT_NE(message_of_find().find("itself"), std::string::npos);
  use(folder_ / "none");
  EXPECT_NE(message_of_find().find("no program at"), std::string::npos);
}

TEST_F(SshExec, HandOverBecomesSsh) {
  use(script("ssh", R"(for word; do printf '<%s>' "$word"; done)"));
  const std::string got = written_by_child([](int fd) {
    dup2(fd, 1);
    hand_over({"-t", "", "host", "a  b"});
  });
  EXPECT_EQ(got, "<-t><><host><a  b>");
}

TEST_F(SshExec, BootstrapWords) {
  const Words words = {"-qn", "-c8", "-p", "22", "a@host", "-i", "key", "-s", "sftp"};
  const Words want = {"ssh",
                      "-T",
                      "-oRemoteCommand=none",
                      "-oClearAllForwardings=yes",
                      "-q",
                      "-p",
                      "22",
                      "-l",
                      "a",
                      "-i",
                      "key",
                      "--",
                      "host",
                      "exec line"};
  EXPECT_EQ(bootstrap_argv(parse_options(words), "exec line"), want);
}

// Two scripts called ssh that go on to us would otherwise call each other through us for ever.
TEST_F(SshExec, ScriptsThatCallUsAreNotTheRealSsh) {
  const std::string first = script("1/ssh", "exit 1"), second = script("2/ssh", "exit 2");
  const std::string third = script("3/ssh", "exit 3");
  setenv("PATH", (folder_ / "1:").string().append(folder_ / "2:").append(folder_ / "3").c_str(), 1);
  EXPECT_FALSE(is_below_our_ssh());
  EXPECT_EQ(find_real_ssh(), first);
  setenv("MCDTP_STARTED_SSH", (first + ":" + second).c_str(), 1);
  EXPECT_TRUE(is_below_our_ssh());
  EXPECT_EQ(find_real_ssh(), third);
  use(second);
  EXPECT_EQ(find_real_ssh(), third);
  // A program that was started above is the real one: it calls ssh itself, for a jump host.
  use("/bin/true");
  setenv("MCDTP_STARTED_SSH", "/bin/true", 1);
  EXPECT_EQ(find_real_ssh(), "/bin/true");
  unsetenv("MCDTP_STARTED_SSH");
}

TEST_F(SshExec, TellsTheRealSshThatWeStartedIt) {
  use(script("ssh", R"(printf %s "$MCDTP_STARTED_SSH"; exit 7)"));
  SshProcess ssh({"ssh"});
  EXPECT_EQ(read_to_end(ssh.stdout_fd()), folder_ / "ssh");
  EXPECT_EQ(ssh.wait(), 7);
}

TEST_F(SshExec, CarriesStdinStdoutAndStatus) {
  use(script("ssh", R"(printf '%s,' "$@"; cat; exit 7)"));
  SshProcess ssh({"ssh", "-T", "a b"});
  ASSERT_EQ(write(ssh.stdin_fd(), "hello", 5), 5);
  EXPECT_NE(fcntl(ssh.stdin_fd(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(fcntl(ssh.stdout_fd(), F_GETFD) & FD_CLOEXEC, 0);
  std::string got(11, ' ');
  for (std::size_t at = 0; at < got.size();) {
    const ssize_t count = read(ssh.stdout_fd(), got.data() + at, got.size() - at);
    ASSERT_GT(count, 0);
    at += count;
  }
  EXPECT_EQ(got, "-T,a b,hell");
  ssh.close_pipes();
  EXPECT_EQ(ssh.wait(), 7);
  EXPECT_EQ(ssh.wait(), 7);
}

TEST_F(SshExec, DeathBySignalIs255) {
  use(script("ssh", "kill -KILL $$"));
  SshProcess ssh({"ssh"});
  EXPECT_EQ(ssh.wait(), 255);
}

// Those that a terminal sends to all of a group need no word of ours, nor does that nobody reads.
TEST_F(SshExec, TellsWhatSignalEndedIt) {
  const auto killed_by = [&](const std::string& body) {
    use(script("ssh", body));
    SshProcess ssh({"ssh"});
    ssh.wait();
    return ssh.killed_by();
  };
  EXPECT_EQ(killed_by("kill -KILL $$"), "Killed");
  EXPECT_EQ(killed_by("kill -ABRT $$"), "Aborted");
  for (const char* signal : {"HUP", "INT", "QUIT", "TERM", "PIPE"})
    EXPECT_EQ(killed_by(std::string("kill -") + signal + " $$"), "") << signal;
  EXPECT_EQ(killed_by("exit 137"), "");
}

TEST_F(SshExec, StatusArrivesThoughTheCallerIgnoresChildren) {
  use(script("ssh", "exit 3"));
  const auto before = signal(SIGCHLD, SIG_IGN);
  SshProcess ssh({"ssh"});
  EXPECT_EQ(ssh.wait(), 3);
  signal(SIGCHLD, before);
}

TEST_F(SshExec, SignalsAreAsAtLogin) {
  use(script("ssh", "grep -E '^Sig(Blk|Ign)' /proc/self/status"));
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const auto pipe_before = signal(SIGPIPE, SIG_IGN);
  SshProcess ssh({"ssh"});
  signal(SIGPIPE, pipe_before);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  const std::string got = read_to_end(ssh.stdout_fd());
  EXPECT_NE(got.find("SigBlk:\t0000000000000000"), std::string::npos) << got;
  const auto ignored = std::stoull(got.substr(got.find("SigIgn:\t") + 8), nullptr, 16);
  EXPECT_EQ(ignored & (1ull << (SIGPIPE - 1)), 0u) << got;
}

TEST_F(SshExec, TheDestructorEndsIt) {
  const std::string mark = folder_ / "mark";
  use(script("ssh", "trap 'echo > " + mark + "; exit' TERM; echo up; while :; do sleep 0.02; done"));
  pid_t pid = 0;
  {
    SshProcess ssh({"ssh"});
    pid = ssh.pid();
    char up[3];
    ASSERT_EQ(read(ssh.stdout_fd(), up, 3), 3);
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_TRUE(fs::exists(mark)) << "it was killed, not asked";
}

TEST_F(SshExec, TheDestructorEndsOneThatIgnoresSigterm) {
  use(script("ssh", "trap '' TERM; echo up; exec sleep 1000"));
  pid_t pid = 0;
  {
    SshProcess ssh({"ssh"});
    pid = ssh.pid();
    char up[3];
    ASSERT_EQ(read(ssh.stdout_fd(), up, 3), 3);
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST_F(SshExec, DiesWithItsParent) {
  use(script("ssh", "trap 'echo term >&2; kill $!; exit' TERM; sleep 30 & echo up; wait; echo late >&2"));
  const std::string got = written_by_child([](int fd) {
    dup2(fd, 2);
    SshProcess ssh({"ssh"});
    char up[3];
    if (read(ssh.stdout_fd(), up, 3) == 3) kill(getpid(), SIGKILL);
  });
  EXPECT_EQ(got, "term\n");
}

TEST_F(SshExec, SaysWhatCannotBeStarted) {
  const std::string path = folder_ / "ssh";
  std::ofstream(path) << "#!/no/such/interpreter\n";
  chmod(path.c_str(), 0755);
  use(path);
  try {
    SshProcess ssh({"ssh"});
    FAIL() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), "start " + path + ": No such file or directory");
  }
}

}  // namespace
}  // namespace mcdtp
