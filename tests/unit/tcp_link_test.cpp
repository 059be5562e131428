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

// Both ends, of as many links as they want.
struct LinkPair {
  LinkPair() : at(Listening(1).endpoint()), acceptor(pair.server, at), links(pair.client, {at}) {
    EXPECT_TRUE(acceptor.start());
  }
  ~LinkPair() {
    links.stop();
    acceptor.stop();
  }
  void want(std::size_t count) {
    acceptor.want(count);
    links.want(count);
  }
  static std::vector<ChannelId> links_of(const Driver& driver) {
    std::vector<ChannelId> ids;
    driver.session().for_each_channel([&](const Channel& channel) {
      if (channel.is_link()) ids.push_back(channel.id());
    });
    return ids;
  }
  bool have(std::size_t count) {
    return pair.until(
        [&] { return links_of(pair.client).size() == count && links_of(pair.server).size() == count; });
  }

  DriverPair pair{[](const StreamNews&) {}, [](const StreamNews&) {}};
  Endpoint at;
  TcpAcceptor acceptor;
  TcpLinks links;
};

TEST(TcpLinks, AsManyStandAsAreWanted) {
  LinkPair both;
  both.want(1);
  EXPECT_TRUE(both.have(1));
  both.want(5);
  EXPECT_TRUE(both.have(5));
  both.want(1);
  EXPECT_TRUE(both.have(1));
  both.acceptor.on_link_end(257);  // DriverPair tells nobody
  for (const ChannelId id : {258, 259, 260}) both.acceptor.on_link_end(id);
  both.want(2);
  EXPECT_TRUE(both.have(2));
}

// What connects here does so in the call, for nothing runs that could do it later. One that is under way is left alone.
TEST(TcpLinks, WhatIsSoughtIsTriedAtOnceIfItHasStoodBefore) {
  DriverPair pair([](const StreamNews&) {}, [](const StreamNews&) {});
  const Listening far(8);
  TcpLinks links(pair.client, {far.endpoint()});
  links.want(1);
  ASSERT_TRUE(pair.until([&] { return pair.client.session().channel(kFirstTcpChannel) != nullptr; }));
  ASSERT_TRUE(far.accepts());
  const auto end_and_seek = [&](ChannelId id) {
    links.on_link_end(id);
    links.hurry();
    return far.accepts();
  };
  EXPECT_FALSE(end_and_seek(kFirstTcpChannel));
  ASSERT_TRUE(pair.until([&] { return pair.client.session().channel(kFirstTcpChannel + 1) != nullptr; }));
  ASSERT_TRUE(far.accepts());
  links.on_proved(kFirstTcpChannel + 1);
  EXPECT_TRUE(end_and_seek(kFirstTcpChannel + 1));
  links.hurry();
  EXPECT_FALSE(far.accepts());
  links.stop();
}

// Others may be told of it first that a link has ended: its channel is gone by then.
TEST(TcpLinks, WhatIsProvedIsWhatWasSaid) {
  LinkPair both;
  both.want(2);
  ASSERT_TRUE(both.have(2));
  for (const ChannelId id : {256, 257, 300}) both.links.on_proved(id);
  both.pair.client.remove_link(256);
  EXPECT_EQ(both.links.proved(), 2U);
  both.links.on_link_end(256);
  EXPECT_EQ(both.links.proved(), 1U);
  both.want(1);
  both.links.on_proved(257);
  EXPECT_LE(both.links.proved(), 1U);
}

}  // namespace
}  // namespace mcdtp
