#include "client/socks_door.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "common/io/owned_fd.h"

namespace mcdtp {
namespace {

const std::string kRequest("\x04\x01\x00\x50\x7f\x00\x00\x01me\x00", 11);

class SocksDoorTest : public testing::Test {
 protected:
  SocksDoorTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    program_ = OwnedFd(ends[0]);
    door_.emplace(
        io_, std::make_shared<Descriptor>(io_, ends[1]),
        [this] {
          ++asked_;
          return may_leave_;
        },
        [this](SocksDoor::Guest guest) {
          socket_ = guest.socket;
          host_ = guest.request.host();
          early_.assign(guest.early.begin(), guest.early.end());
        },
        [this] { ended_ = true; });
  }
  void say(const std::string& words) {
    ASSERT_EQ(::write(program_.get(), words.data(), words.size()), static_cast<ssize_t>(words.size()));
  }
  template <typename Condition>
  void until(Condition condition) {
    for (int turns = 0; turns < 1000 && !condition(); ++turns)
      io_.run_one_for(std::chrono::milliseconds(100));
    ASSERT_TRUE(condition());
  }

  asio::io_context io_;
  OwnedFd program_;
  bool may_leave_ = true;
  int asked_ = 0;
  bool ended_ = false;
  std::shared_ptr<Descriptor> socket_;
  std::string host_, early_;
  std::optional<SocksDoor> door_;
};

TEST_F(SocksDoorTest, WhatFollowsTheRequestBelongsToTheConnection) {
  say(kRequest + "early");
  until([&] { return ended_; });
  EXPECT_NE(socket_, nullptr);
  EXPECT_EQ(host_, "127.0.0.1");
  EXPECT_EQ(early_, "early");
}

TEST_F(SocksDoorTest, WaitsAsLongAsNothingCanTakeIt) {
  may_leave_ = false;
  say(kRequest + "early");
  until([&] { return asked_ > 2; });
  EXPECT_EQ(socket_, nullptr);
  EXPECT_FALSE(ended_);
  may_leave_ = true;
  until([&] { return ended_; });
  EXPECT_NE(socket_, nullptr);
  EXPECT_EQ(early_, "early");
}

TEST_F(SocksDoorTest, MayEndWhileItWaits) {
  may_leave_ = false;
  say(kRequest);
  until([&] { return asked_ > 0; });
  door_.reset();
  io_.run_for(std::chrono::milliseconds(100));
  EXPECT_EQ(asked_, 1);
}

TEST_F(SocksDoorTest, NonsenseEndsIt) {
  say("GET / HTTP/1.0\r\n\r\n");
  until([&] { return ended_; });
  EXPECT_EQ(socket_, nullptr);
  EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace mcdtp
