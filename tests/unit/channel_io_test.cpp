#include "common/io/channel_io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <asio/ip/udp.hpp>
#include <cerrno>
#include <functional>
#include <thread>
#include <vector>

#include "common/io/system.h"

namespace mcdtp {
namespace {

// The real calls, but the way out takes no datagram over `carries` bytes, and all sizes are noted.
class NarrowWay : public UdpSyscalls {
 public:
  std::size_t carries = 65507;
  std::vector<std::vector<std::size_t>> trains;  // sizes of the datagrams of each call that was tried
  std::vector<std::uint8_t> last;                // the first datagram of the last train

  // What the socket of that port sends leaves by `fd`; by itself where there is none.
  void send_by(std::optional<int> fd, std::uint16_t port) {
    other_ = fd;
    port_ = port;
  }

  ssize_t send(int fd, const msghdr& message) override {
    std::uint16_t segment = 0;
    std::memcpy(&segment, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof segment);
    std::vector<std::size_t> sizes;
    const auto* bytes = static_cast<const std::uint8_t*>(message.msg_iov->iov_base);
    last.assign(bytes, bytes + std::min<std::size_t>(segment, message.msg_iov->iov_len));
    for (std::size_t left = message.msg_iov->iov_len; left > 0; left -= sizes.back()) {
      sizes.push_back(std::min<std::size_t>(left, segment));
    }
    trains.push_back(sizes);
    return segment > carries ? fail(EINVAL) : UdpSyscalls::send(way_of(fd), message);
  }
  int send_many(int fd, std::span<mmsghdr> messages) override {
    std::vector<std::size_t> sizes;
    for (const mmsghdr& message : messages) sizes.push_back(message.msg_hdr.msg_iov->iov_len);
    trains.push_back(sizes);
    return sizes.front() > carries ? fail(EMSGSIZE) : UdpSyscalls::send_many(way_of(fd), messages);
  }

 private:
  int way_of(int fd) const {
    sockaddr_in local{};
    socklen_t size = sizeof local;
    if (!other_ || getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) != 0) return fd;
    return ntohs(local.sin_port) == port_ ? *other_ : fd;
  }
  static int fail(int error) {
    errno = error;
    return -1;
  }

  std::optional<int> other_;
  std::uint16_t port_ = 0;
};

SessionConfig one_channel(Role role) {
  SessionConfig config;
  config.role = role;
  config.channels = 1;
  config.congestion = [] { return make_congestion("fixed", 10'000'000'000); };
  return config;
}

// Two ends of one datagram channel over loopback; the client sends without end.
class ChannelIo : public ::testing::Test {
 protected:
  ChannelIo() {
    client_.add_stream_channel(now(), kSshChannel);
    server_.add_stream_channel(now(), kSshChannel);
    client_.add_datagram_channel(now(), 0, {0});
    server_.add_datagram_channel(now(), 0, {});
  }
  std::unique_ptr<UdpSocket> socket() {
    return std::make_unique<UdpSocket>(
        io_, UdpSocket::Options{Endpoint::from_text("127.0.0.1", 0).value(), {0, 0}, 4 << 20, &way_});
  }
  void turn(Session& session, UdpChannel& io) {
    if (session.next_timeout() <= now()) session.on_timeout(now());
    for (bool more = true; more;) more = io.receive(batch_, session);
    const Bytes bytes = session.streams().readable(kStdio);
    if (!bytes.empty()) session.streams().consume(kStdio, bytes.size());
    for (MutableBytes room; !(room = session.streams().write_room(kStdio)).empty() && &session == &client_;) {
      session.streams().wrote(kStdio, room.size());
    }
    while (session.poll_stream_news()) {
    }
    // The SSH channel is not carried: what it is given is lost for good.
    if (session.wants_mtu_limit(0)) session.set_mtu_limit(now(), 0, limit_);
    (void)io.send(now(), session);
    if (const auto refused = io.take_too_large()) session.on_mtu_refused(now(), 0, *refused);
  }
  // Both take turns until `done`, for ten seconds at most.
  bool run(const std::function<bool()>& done) {
    for (const Time end = now() + seconds(10); now() < end && !done();) {
      turn(client_, client_io_);
      turn(server_, server_io_);
    }
    return done();
  }
  std::size_t size() const { return client_.channel(0)->mtu.size(); }

  asio::io_context io_;
  NarrowWay way_;
  ReceiveBatch batch_;
  std::size_t limit_ = 8972;
  SessionKeys keys_{std::array<std::uint8_t, 32>{}, Cipher::kAes128Gcm};
  Session client_{now(), one_channel(Role::kClient)};
  Session server_{now(), one_channel(Role::kServer)};
  std::unique_ptr<UdpSocket> server_socket_ = socket();
  Endpoint server_address_ = server_socket_->local();
  std::unique_ptr<UdpSocket> client_socket_ = socket();
  std::uint16_t client_port_ = client_socket_->local().port();
  UdpChannel client_io_{0, std::move(client_socket_), keys_, Role::kClient, {server_address_}};
  UdpChannel server_io_{0, std::move(server_socket_), keys_, Role::kServer, {}};
};

// Who has the keys may say that packets came which never did, and have them sent to others.
TEST_F(ChannelIo, WhereTheLoginHostIsAloneOthersAreStrangers) {
  for (const char* address : {"127.0.0.2", "127.0.0.1"}) {
    auto own = socket();
    const Endpoint at = own->local();
    const LoginHost host{Endpoint::from_text(address, 0).value(), true};
    UdpChannel guarded(0, std::move(own), keys_, Role::kServer, {}, host);
    UdpChannel client(0, socket(), keys_, Role::kClient, {at});
    Session to(now(), one_channel(Role::kServer)), from(now(), one_channel(Role::kClient));
    to.add_datagram_channel(now(), 0, {});
    from.add_datagram_channel(now(), 0, {0});
    const bool is_host = host.address.address_text() == "127.0.0.1";
    for (const Time end = now() + seconds(10);
         now() < end && guarded.unopened() == 0 && !to.channel(0)->proved();) {
      turn(from, client);
      turn(to, guarded);
    }
    EXPECT_EQ(to.channel(0)->proved(), is_host);
    EXPECT_EQ(to.channel(0)->statistics.bytes_sent > 0, is_host);
    EXPECT_EQ(guarded.unopened() > 0, !is_host);
  }
}

TEST_F(ChannelIo, AProbeIsATrainOfItsOwn) {
  ASSERT_TRUE(run([&] { return size() == 8972; }));
  for (const auto& train : way_.trains) {
    for (const std::size_t size : train) {
      EXPECT_TRUE(size <= train.front()) << "a datagram larger than the train's first";
    }
  }
  const auto alone = [&](std::size_t size) {
    return std::count(way_.trains.begin(), way_.trains.end(), std::vector<std::size_t>{size});
  };
  EXPECT_GE(alone(1472), 1);
  EXPECT_GE(alone(8972), 1);
}

TEST_F(ChannelIo, FullDatagramsFillATrain) {
  ASSERT_TRUE(run([&] { return size() == 8972; }));
  way_.trains.clear();
  const std::vector<std::size_t> full(65507 / 8972, 8972);
  EXPECT_TRUE(run([&] { return std::count(way_.trains.begin(), way_.trains.end(), full) > 0; }));
  for (const auto& train : way_.trains) EXPECT_LE(train.size(), 64u);
}

// The interface takes less than it said: one probe tells, and the search goes on below.
TEST_F(ChannelIo, ARefusedProbeLowersTheLimitAtOnce) {
  way_.carries = 5000;
  ASSERT_TRUE(run([&] { return client_.channel(0)->mtu.state() == PathMtu::State::kComplete; }));
  EXPECT_LE(size(), 5000u);
  EXPECT_GE(size() + PathMtu::kStep, 5000u);
}

// ... or it becomes narrower: the data follow, and all that comes after arrives.
TEST_F(ChannelIo, ARefusedTrainLowersTheSize) {
  ASSERT_TRUE(run([&] { return size() == 8972; }));
  way_.carries = 1372;
  ASSERT_TRUE(run([&] { return size() <= 1372; }));
  const std::uint64_t before = server_.channel(0)->receipts.received();
  EXPECT_TRUE(run([&] { return server_.channel(0)->receipts.received() > before + 1000; }));
}

// Who has seen a datagram can send it again; that gives no address a place among those that are remembered.
TEST_F(ChannelIo, ADatagramThatIsSentAgainMakesNoAddressKnown) {
  ASSERT_TRUE(run([&] { return size() == 8972; }));
  ASSERT_TRUE(run([&] { return client_io_.send(now(), client_) == UdpChannel::Sent::kSome; }));
  turn(server_, server_io_);
  const std::uint64_t before = server_io_.unopened();
  for (int i = 0; i < 3; ++i) {
    asio::ip::udp::socket stranger(io_, asio::ip::udp::v4());
    stranger.send_to(asio::buffer(way_.last), {asio::ip::make_address("127.0.0.1"), server_address_.port()});
  }
  EXPECT_TRUE(run([&] { return server_io_.unopened() == before + 3; }));
  EXPECT_THROW((void)server_io_.address(1), std::out_of_range);
}

// A client that comes from ever new addresses is heard from each.
TEST_F(ChannelIo, AnyNumberOfAddressesIsFollowed) {
  const auto received = [&] { return server_.channel(0)->receipts.received(); };
  ASSERT_TRUE(run([&] { return received() > 0; }));
  const SentPackets& sent = client_.channel(0)->sent;
  for (int i = 0; i < 100; ++i) {
    asio::ip::udp::socket other(io_, {asio::ip::make_address("127.0.0.1"), 0});
    way_.send_by(other.native_handle(), client_port_);
    const std::uint64_t before = received();
    EXPECT_TRUE(run([&] { return received() > before; })) << i;
    way_.send_by(std::nullopt, 0);
    EXPECT_TRUE(run([&, mark = sent.next()] { return sent.oldest_outstanding() >= mark; }));
  }
  EXPECT_EQ(server_io_.address(0).port(), client_port_);
  EXPECT_THROW((void)server_io_.address(1), std::out_of_range) << "the oldest is kept";
}

struct SocketPair {
  SocketPair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0); }
  std::array<int, 2> ends{};
};

// One end of a pipe channel. What it sends is taken from a socket of the test's, and what it receives put into another.
class PipeEnd {
 public:
  explicit PipeEnd(Role role)
      : session_(now(), one_channel(role)),
        read_from_(std::make_shared<Descriptor>(io_, in_.ends[0])),
        channel_(kSshChannel, BytePipe(read_from_, std::make_shared<Descriptor>(io_, out_.ends[0])), nullptr,
                 role) {
    session_.add_stream_channel(now(), kSshChannel);
  }

  Session& session() { return session_; }
  void put(const std::vector<std::uint8_t>& bytes) const {
    EXPECT_EQ(::write(in_.ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  // One byte of a stream, so that the next packet asks for a report.
  void ask() {
    const MutableBytes room = session_.streams().write_room(kStdio);
    ASSERT_FALSE(room.empty());
    room[0] = 'x';
    session_.streams().wrote(kStdio, 1);
  }
  // Waits until there is something to be read.
  void receive_slowly() {
    const int fd = in_.ends[0], flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    EXPECT_EQ(channel_.receive(session_), BytePipe::Status::kOpen);
    fcntl(fd, F_SETFL, flags);
  }
  // All that it sends by now.
  std::vector<std::uint8_t> send() {
    BytePipe::Status status = BytePipe::Status::kOpen;
    session_.on_timeout(now());
    while (channel_.send(now(), session_, status)) {
    }
    std::vector<std::uint8_t> bytes(64 * 1024);
    const ssize_t n = recv(out_.ends[1], bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
  }

 private:
  SocketPair in_, out_;
  asio::io_context io_;
  Session session_;
  std::shared_ptr<Descriptor> read_from_;
  PipeChannel channel_;
};

// A time of before the read would make RTTs shorter than the way.
TEST(PipeChannelIo, WhatAReadBringsHasArrivedByItsEnd) {
  constexpr auto kWay = milliseconds(20);
  PipeEnd client(Role::kClient), server(Role::kServer);
  const auto& rtt = client.session().channel(kSshChannel)->loss.rtt();
  for (const Time end = now() + seconds(10); now() < end && !rtt.has_sample();) {
    if (const auto bytes = client.send(); !bytes.empty()) {
      server.put(bytes);
      server.receive_slowly();
    }
    const auto bytes = server.send();
    if (bytes.empty()) continue;
    std::thread way([&] {
      std::this_thread::sleep_for(kWay);
      client.put(bytes);
    });
    client.receive_slowly();
    way.join();
    // A report names the newest packet; where that was one that asks for none, it tells no time.
    client.ask();
  }
  EXPECT_TRUE(rtt.has_sample());
  EXPECT_GE(rtt.min(), kWay);
}

}  // namespace
}  // namespace mcdtp
