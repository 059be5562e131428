#include "client/channel_bridge.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "client/child_process.h"

namespace mcdtp {
namespace {

constexpr std::string_view kBytes = "what came at the last moment";
constexpr unsigned kHang = 30;  // seconds

// Its socket says nothing. The bytes of stdout come between the look for some and the look for some of stderr, as they
// do where the look empties the socket for both.
class LateChannel : public SshChannel {
 public:
  LateChannel() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }

  std::optional<std::size_t> write(std::string_view data) override { return data.size(); }
  bool send_eof() override { return true; }
  std::optional<std::size_t> read(bool from_stderr, std::span<char> buffer) override {
    came_ = came_ || from_stderr;
    if (from_stderr || unread() == 0) return std::nullopt;
    std::copy(kBytes.begin(), kBytes.end(), buffer.begin());
    was_read_ = true;
    return kBytes.size();
  }
  std::size_t unread() const override { return came_ && !was_read_ ? kBytes.size() : 0; }
  bool at_eof() override { return was_read_; }
  bool is_closed() override { return true; }
  bool has_room() const override { return true; }
  bool has_unsent() const override { return false; }
  bool flush() override { return false; }
  int socket_fd() const override { return ends_[0]; }

 private:
  std::array<int, 2> ends_{};
  bool came_ = false;
  bool was_read_ = false;
};

TEST(ChannelBridge, BytesThatCameWhileTheOtherStreamWasReadGoOut) {
  ChildProcess child([] {
    alarm(kHang);
    LateChannel channel;
    ChannelBridge(channel).run();
    return 0;
  });
  std::array<char, 100> buffer{};
  ASSERT_EQ(::read(child.stdout_fd(), buffer.data(), buffer.size()), static_cast<ssize_t>(kBytes.size()));
  EXPECT_EQ(std::string_view(buffer.data(), kBytes.size()), kBytes);
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace mcdtp
