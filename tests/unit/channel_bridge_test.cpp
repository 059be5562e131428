#include "client/channel_bridge.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <utility>

#include "client/child_process.h"

namespace mcdtp {
namespace {

constexpr std::string_view kBytes = "what came at the last moment";
constexpr unsigned kHang = 30;  // seconds

// Its socket says nothing. Bytes of stdout come between the look for some and the look for some of stderr, as they do
// where the look empties the socket for both; and once more, as many, after those were read.
class LateChannel : public SshChannel {
 public:
  LateChannel() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }

  std::optional<std::size_t> write(std::string_view data) override { return data.size(); }
  bool send_eof() override { return true; }
  std::optional<std::size_t> read(bool from_stderr, std::span<char> buffer) override {
    const bool waits = unread() > 0;
    if (from_stderr && !waits && came_ < kTimes && std::exchange(was_looked_for_, false)) ++came_;
    if (!from_stderr && !waits) was_looked_for_ = true;
    if (from_stderr || !waits) return std::nullopt;
    std::copy(kBytes.begin(), kBytes.end(), buffer.begin());
    ++read_;
    return kBytes.size();
  }
  std::size_t unread() const override { return came_ > read_ ? kBytes.size() : 0; }
  bool at_eof() override { return read_ == kTimes; }
  bool is_closed() override { return true; }
  bool has_room() const override { return true; }
  bool has_unsent() const override { return false; }
  bool flush() override { return false; }
  int socket_fd() const override { return ends_[0]; }

  static constexpr int kTimes = 2;

 private:
  std::array<int, 2> ends_{};
  bool was_looked_for_ = false;  // stdout, since bytes were read
  int came_ = 0;
  int read_ = 0;
};

TEST(ChannelBridge, BytesThatCameWhileTheOtherStreamWasReadGoOut) {
  ChildProcess child([] {
    alarm(kHang);
    LateChannel channel;
    ChannelBridge(channel).run();
    return 0;
  });
  std::string got;
  std::array<char, 100> buffer{};
  for (ssize_t size = 0; (size = ::read(child.stdout_fd(), buffer.data(), buffer.size())) > 0;)
    got.append(buffer.data(), static_cast<std::size_t>(size));
  EXPECT_EQ(got, std::string(kBytes) + std::string(kBytes));
  EXPECT_EQ(child.wait(), 0);
}

// Its command writes for ever.
class EndlessChannel : public LateChannel {
 public:
  std::optional<std::size_t> read(bool from_stderr, std::span<char> buffer) override {
    return from_stderr ? std::nullopt : std::optional(buffer.size());
  }
  bool at_eof() override { return false; }
};

TEST(ChannelBridge, WhoWritesOnForAReaderThatHasGoneIsLeft) {
  ChildProcess child([] {
    alarm(kHang);
    std::signal(SIGPIPE, SIG_IGN);
    closefrom(STDERR_FILENO + 1);  // our end of its stdout, too
    EndlessChannel channel;
    ChannelBridge(channel).run();
    return 7;
  });
  ::close(child.take_stdout());
  EXPECT_EQ(child.wait(), 7);
}

}  // namespace
}  // namespace mcdtp
