#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <memory>

#include "common/io/driver.h"
#include "common/io/session_config.h"

namespace mcdtp {

// A client's and a server's driver, joined by a pipe as by SSH, on one event loop.
struct DriverPair {
  using OnNews = std::function<void(const StreamNews&)>;

  DriverPair(OnNews on_client_news, OnNews on_server_news, const SendingOptions& options = {})
      : client(io, make_session_config(Role::kClient, options, 1, 1), keys,
               {[](const SessionEvent&) {}, std::move(on_client_news), [] {}, [](ChannelId) {}}),
        server(io, make_session_config(Role::kServer, options, 1, 1), keys,
               {[](const SessionEvent&) {}, std::move(on_server_news), [] {}, [](ChannelId) {}}) {
    std::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    join(client, ends[0]);
    join(server, ends[1]);
  }

  // Runs the loop until it is so; false: never, as far as 20 s of idleness tell.
  template <typename Condition>
  bool until(Condition condition) {
    for (int i = 0; i < 20'000; ++i) {
      if (condition()) return true;
      io.run_one_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  asio::io_context io;
  const SessionKeys keys{std::array<std::uint8_t, 32>{}, Cipher::kAes128Gcm};
  Driver client;
  Driver server;

 private:
  void join(Driver& driver, int fd) {
    driver.add_ssh(std::make_shared<Descriptor>(io, dup(fd)), std::make_shared<Descriptor>(io, fd), {});
  }
};

}  // namespace mcdtp
