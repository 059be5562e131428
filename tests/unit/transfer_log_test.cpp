#include "common/io/transfer_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

class TransferLogTest : public testing::Test {
 protected:
  TransferLogTest() : session(Time{}, config()) {
    session.add_stream_channel(Time{}, kSshChannel);
    session.add_datagram_channel(Time{}, 0, {0});
  }

  static SessionConfig config() {
    SessionConfig config;
    config.congestion = [] { return make_congestion("fixed", 8'000'000); };
    return config;
  }
  std::string path(const std::string& name) const { return folder.path() / name; }
  std::vector<std::string> lines(const std::string& name) const {
    std::ifstream in(path(name));
    std::vector<std::string> result;
    for (std::string line; std::getline(in, line);) result.push_back(line);
    return result;
  }

  TemporaryFolder folder;
  Session session;
  std::vector<std::string> said;
};

auto say_to(std::vector<std::string>& said) {
  return [&said](const std::string& line) { said.push_back(line); };
}

void expect_has(const std::string& line, const std::string& word) {
  EXPECT_NE((" " + line + " ").find(" " + word + " "), std::string::npos) << word << " in " << line;
}

TEST_F(TransferLogTest, OneLineForEachTransfer) {
  for (const int status : {0, 7}) {
    TransferLog log(path("small"), std::nullopt, say_to(said));
    EXPECT_FALSE(log.wants_samples());
    log.start(Time{}, "far");
    log.on_proved(kSshChannel);
    log.on_proved(0);
    log.on_proved(0);
    log.sample(Time{} + seconds(1), session);
    log.finish(Time{} + milliseconds(1500), session, status);
  }
  const auto all = lines("small");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].find("start=20"), 0u);
  for (const char* word :
       {"host=far", "status=0", "seconds=1.500", "sent_bytes=0", "received_bytes=0", "packets=0", "lost=0",
        "spurious=0", "no_room_here=0", "no_room_there=0", "rtt_ms=-", "udp_channels=1"})
    expect_has(all[0], word);
  expect_has(all[1], "status=7");
}

TEST_F(TransferLogTest, ARowForEachChannelAndOneHead) {
  for (int transfer = 0; transfer < 2; ++transfer) {
    TransferLog log(std::nullopt, path("full"), say_to(said));
    EXPECT_TRUE(log.wants_samples());
    log.start(Time{}, "far");
    log.sample(Time{} + milliseconds(100), session);
    log.finish(Time{} + milliseconds(150), session, 0);
  }
  const auto all = lines("full");
  ASSERT_EQ(all.size(), 9u);
  EXPECT_EQ(all[0].find("start,seconds,channel,"), 0u);
  const auto columns = [](const std::string& row) { return std::count(row.begin(), row.end(), ','); };
  for (const std::string& row : all) EXPECT_EQ(columns(row), columns(all[0])) << row;
  EXPECT_NE(all[1].find("Z,0.100,0,0,0,0,0,0,,8."), std::string::npos) << all[1];
  EXPECT_NE(all[2].find("Z,0.100,255,"), std::string::npos) << all[2];
  EXPECT_NE(all[3].find("Z,0.150,0,"), std::string::npos) << all[3];
}

TEST_F(TransferLogTest, AFileThatCannotBeOpened) {
  try {
    TransferLog log(path("no such directory/log"), std::nullopt, say_to(said));
    FAIL() << "it was opened";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(),
              "opening the log " + path("no such directory/log") + ": No such file or directory");
  }
}

// It is said once, and nothing else happens.
TEST_F(TransferLogTest, AFileThatTakesNoMore) {
  TransferLog log("/dev/full", "/dev/full", say_to(said));
  log.start(Time{}, "far");
  log.sample(Time{}, session);
  said.clear();
  log.finish(Time{}, session, 0);
  EXPECT_EQ(said, std::vector<std::string>{"writing the log /dev/full: No space left on device"});
  EXPECT_FALSE(log.wants_samples());
}

// What there was room for of a row is taken back: the next transfer's row would be glued to it.
TEST_F(TransferLogTest, NoHalfARowIsLeft) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  TransferLog log(std::nullopt, path("short"), say_to(said));
  log.start(Time{}, "far");
  log.sample(Time{}, session);
  const auto rows = lines("short");
  const auto size = std::filesystem::file_size(path("short"));
  const rlimit less{static_cast<rlim_t>(size + 20), before.rlim_max};
  const auto ignored = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &less);
  log.sample(Time{} + milliseconds(100), session);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, ignored);
  EXPECT_EQ(lines("short"), rows);
  EXPECT_EQ(std::filesystem::file_size(path("short")), size);
  EXPECT_FALSE(log.wants_samples());
}

}  // namespace
}  // namespace mcdtp
