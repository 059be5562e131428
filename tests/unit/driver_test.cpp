#include "common/io/driver.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "client/child_process.h"
#include "common/io/forwarder.h"
#include "common/io/session_config.h"

namespace mcdtp {
namespace {

constexpr int kEnough = 5000;  // turns of 1 ms each

// One driver with an SSH channel whose other ends are the test's.
struct Side {
  explicit Side(Role role)
      : driver(io, make_session_config(role, {}, 1, 1), keys,
               {[](const SessionEvent&) {}, [](const StreamNews&) {}, [this] { ended = true; },
                [](ChannelId) {}}) {
    std::signal(SIGPIPE, SIG_IGN);
    driver.add_ssh(std::make_shared<Descriptor>(io, in.read_end),
                   std::make_shared<Descriptor>(io, out.write_end), {});
  }
  template <typename Condition>
  bool until(Condition condition) {
    for (int i = 0; i < kEnough && !condition(); ++i) io.run_one_for(std::chrono::milliseconds(1));
    return condition();
  }
  // What it has written.
  std::string take_output() const {
    std::string bytes(1 << 16, '\0');
    const ssize_t got = read(out.read_end, bytes.data(), bytes.size());
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }

  asio::io_context io;
  const Pipe in = make_pipe(), out = make_pipe();
  const SessionKeys keys{std::array<std::uint8_t, 32>{}, Cipher::kAes128Gcm};
  bool ended = false;
  Driver driver;
};

// As where ssh has died: what it had passed on before is still in the pipe.
TEST(Driver, ReadsToTheEndFromWhoTakesNothingMore) {
  const std::string words(10'000, 'x');
  Side far(Role::kServer);
  write_stream(far.driver.streams(), kStdio, as_bytes(words));
  far.driver.streams().finish(kStdio);
  far.driver.kick();
  std::string sent;
  ASSERT_TRUE(far.until([&] { return far.driver.session().statistics().bytes_sent > words.size(); }));
  while (sent.size() < words.size()) sent += far.take_output();

  Side near(Role::kClient);
  ::close(near.out.read_end);
  write_stream(near.driver.streams(), kStdio, as_bytes("nobody reads this"));
  near.driver.kick();
  near.io.run_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(near.ended);
  ASSERT_EQ(write(near.in.write_end, sent.data(), sent.size()), static_cast<ssize_t>(sent.size()));
  ::close(near.in.write_end);
  EXPECT_TRUE(near.until([&] { return near.ended; }));
  EXPECT_TRUE(near.driver.streams().all_received(kStdio));
  std::size_t read = 0;
  for (Bytes some = near.driver.streams().readable(kStdio); !some.empty();
       some = near.driver.streams().readable(kStdio)) {
    read += some.size();
    near.driver.streams().consume(kStdio, some.size());
  }
  EXPECT_EQ(read, words.size());

  ::close(far.in.write_end);
  ::close(far.out.read_end);
}

}  // namespace
}  // namespace mcdtp
