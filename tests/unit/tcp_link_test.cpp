#include "common/io/tcp_link.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "tests/unit/driver_pair.h"

namespace mcdtp {
namespace {

// A socket that listens on a port of its own, on the loopback.
class Listening {
 public:
  explicit Listening(int backlog) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const Endpoint any = *Endpoint::from_text("127.0.0.1", 0);
    EXPECT_EQ(bind(fd_, any.data(), any.size()), 0);
    EXPECT_EQ(listen(fd_, backlog), 0);
  }
  ~Listening() { close(fd_); }
  Endpoint endpoint() const {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    return *Endpoint::from_sockaddr(reinterpret_cast<const sockaddr*>(&address), size);
  }
  bool accepts() const {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    return fd >= 0 && close(fd) == 0;
  }

 private:
  int fd_;
};

// One whose queue is full: the kernel drops every further SYN without a word.
class Silent : public Listening {
 public:
  Silent() : Listening(0), fills_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const Endpoint to = endpoint();
    EXPECT_EQ(connect(fills_, to.data(), to.size()), 0);
  }
  ~Silent() { close(fills_); }

 private:
  int fills_;
};

TEST(TcpLinks, AnAddressThatSaysNothingDoesNotHoldUpTheNext) {
  DriverPair pair([](const StreamNews&) {}, [](const StreamNews&) {});
  const Silent silent;
  const Listening next(8);
  TcpLinks links(pair.client, {silent.endpoint(), next.endpoint()});
  links.want(1);
  EXPECT_TRUE(pair.until([&] { return next.accepts(); }));
  links.stop();
}

}  // namespace
}  // namespace mcdtp
