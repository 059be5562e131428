#include "common/io/udp_socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <algorithm>
#include <asio/error.hpp>
#include <cerrno>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/io/owned_fd.h"
#include "common/io/system.h"

namespace mcdtp {
namespace {

using Status = SendResult::Status;
using Datagram = std::vector<std::uint8_t>;

constexpr std::size_t kSize = 1200;

// The real calls, but for those that the test tells to fail. An entry of a queue stands for one call: its
// errno, or 0 for the real call.
class FaultySyscalls : public UdpSyscalls {
 public:
  bool has_gso = true;
  bool has_gro = true;
  bool has_stamps = true;
  std::deque<int> send_errors;
  std::deque<int> send_many_errors;
  std::deque<int> receive_errors;
  std::optional<std::size_t> send_many_at_most;  // once: takes only so many
  std::function<void(std::span<mmsghdr>)> damage;
  std::vector<std::size_t> segments_sent;  // a train's size, call by call

  int set_option(int fd, int level, int name, int value) override {
    if (level == IPPROTO_UDP && ((name == UDP_SEGMENT && !has_gso) || (name == UDP_GRO && !has_gro))) {
      errno = ENOPROTOOPT;
      return -1;
    }
    if (level == SOL_SOCKET && name == SO_TIMESTAMPNS && !has_stamps) return 0;
    return UdpSyscalls::set_option(fd, level, name, value);
  }
  ssize_t send(int fd, const msghdr& message) override {
    segments_sent.push_back(message.msg_iov->iov_len);
    return fails(send_errors) ? -1 : UdpSyscalls::send(fd, message);
  }
  int send_many(int fd, std::span<mmsghdr> messages) override {
    if (fails(send_many_errors)) return -1;
    const std::size_t count = std::min(messages.size(), send_many_at_most.value_or(messages.size()));
    send_many_at_most.reset();
    return UdpSyscalls::send_many(fd, messages.first(count));
  }
  int receive_many(int fd, std::span<mmsghdr> messages) override {
    if (fails(receive_errors)) return -1;
    const int n = UdpSyscalls::receive_many(fd, messages);
    if (n > 0 && damage) damage(messages.first(static_cast<std::size_t>(n)));
    return n;
  }

 private:
  static bool fails(std::deque<int>& errors) {
    if (errors.empty()) return false;
    errno = errors.front();
    errors.pop_front();
    return errno != 0;
  }
};

// `bytes` bytes, of which each datagram of kSize tells its number by all of its content.
std::vector<std::uint8_t> train_bytes(std::size_t bytes) {
  std::vector<std::uint8_t> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::uint8_t>(i / kSize * 7 + i % kSize);
  return out;
}

std::vector<Datagram> cut(Bytes data, std::size_t size) {
  std::vector<Datagram> out;
  for (; !data.empty(); data = data.subspan(std::min(size, data.size()))) {
    const Bytes one = data.first(std::min(size, data.size()));
    out.emplace_back(one.begin(), one.end());
  }
  return out;
}

class UdpSocketTest : public ::testing::Test {
 protected:
  static Endpoint address(const char* text, std::uint16_t port = 0) {
    return Endpoint::from_text(text, port).value();
  }

  std::unique_ptr<UdpSocket> open(const Endpoint& local, PortRange ports = {}, int buffer_bytes = 4 << 20) {
    return std::make_unique<UdpSocket>(io_, UdpSocket::Options{local, ports, buffer_bytes, &faults_});
  }
  void open_pair(const char* text = "127.0.0.1") {
    sender_ = open(address(text));
    receiver_ = open(address(text));
  }

  // Reads until `count` datagrams are in, or none has come for long.
  std::vector<Datagram> collect(UdpSocket& from, std::size_t count) {
    std::vector<Datagram> out;
    while (out.size() < count && wait_readable(from)) {
      (void)from.receive(batch_, [&](const Endpoint& source, MutableBytes datagram, Time) {
        last_source_ = source;
        out.emplace_back(datagram.begin(), datagram.end());
      });
    }
    return out;
  }
  // All that is there now.
  std::vector<Datagram> drain(UdpSocket& from) {
    std::vector<Datagram> out;
    while (from.receive(
        batch_, [&](const Endpoint&, MutableBytes d, Time) { out.emplace_back(d.begin(), d.end()); })) {
    }
    return out;
  }
  bool wait_readable(UdpSocket& socket) {
    bool ready = false;
    socket.async_wait_readable([&](std::error_code error) { ready = !error; });
    io_.restart();
    io_.run_one_for(seconds(5));
    socket.cancel();
    io_.poll();
    return ready;
  }

  Train train(const std::vector<std::uint8_t>& data, std::size_t accepted = 0) const {
    return {receiver_->local(), Bytes(data).subspan(accepted), kSize};
  }
  // Sends all that the first try has left over, and expects each datagram once, in order.
  void expect_rest_completes(const std::vector<std::uint8_t>& data, const SendResult& first) {
    EXPECT_EQ(first.accepted % kSize, 0u);
    const SendResult second = sender_->send(train(data, first.accepted));
    EXPECT_EQ(second.status, Status::kDone);
    EXPECT_EQ(second.accepted, data.size() - first.accepted);
    expect_arrived(data);
  }
  void expect_arrived(const std::vector<std::uint8_t>& data) {
    const auto wanted = cut(data, kSize);
    EXPECT_TRUE(collect(*receiver_, wanted.size()) == wanted);
    EXPECT_TRUE(drain(*receiver_).empty()) << "datagrams that nobody sent";
  }

  // Of a datagram that has waited, by our clock.
  struct Waited {
    Time sent;   // before that
    Time there;  // a moment between its coming and its being read
    Time told;   // when it came, as its receiver is told
    // The wall clock may have been moved a little meanwhile.
    bool is_told_right() const { return told >= sent - milliseconds(1) && told <= there; }
  };
  Waited wait_for_one() {
    const std::vector<std::uint8_t> one(kSize);
    const Time sent = now();
    EXPECT_EQ(sender_->send(train(one)).accepted, kSize);
    EXPECT_TRUE(wait_readable(*receiver_));
    const Time there = now();
    while (now() < there + milliseconds(2)) {
    }
    std::vector<Time> told;
    (void)receiver_->receive(batch_,
                             [&](const Endpoint&, MutableBytes, Time arrived) { told.push_back(arrived); });
    EXPECT_EQ(told.size(), 1u);
    return {sent, there, told.empty() ? Time{} : told[0]};
  }
  bool system_has_stamps() {
    const int on = 1;
    const OwnedFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return setsockopt(socket.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
  }

  asio::io_context io_;
  FaultySyscalls faults_;
  ReceiveBatch batch_;
  Endpoint last_source_;
  std::unique_ptr<UdpSocket> sender_, receiver_;
};

TEST_F(UdpSocketTest, TrainArrivesInOrderWhole) {
  open_pair();
  const auto data = train_bytes(20 * kSize + 17);
  const SendResult result = sender_->send(train(data));
  EXPECT_EQ(result.status, Status::kDone);
  EXPECT_EQ(result.accepted, data.size());
  expect_arrived(data);
  EXPECT_EQ(last_source_, sender_->local());
  EXPECT_EQ(sender_->counters().datagrams_sent, 21u);
  EXPECT_EQ(receiver_->counters().datagrams_received, 21u);
}

// A kernel begins with that a little after it was asked to.
TEST_F(UdpSocketTest, TellsWhenADatagramCameThatWaited) {
  if (!system_has_stamps()) GTEST_SKIP() << "this system notes no arrivals";
  open_pair();
  const Time begun = now();
  for (int right = 0; right < 5; right = wait_for_one().is_told_right() ? right + 1 : 0)
    ASSERT_LT(now(), begun + seconds(10)) << "no stamps";
}

TEST_F(UdpSocketTest, WithoutStampsADatagramCameWhenItWasRead) {
  faults_.has_stamps = false;
  open_pair();
  const Waited waited = wait_for_one();
  EXPECT_GE(waited.told, waited.there + milliseconds(2));
  EXPECT_LE(waited.told, now());
}

TEST_F(UdpSocketTest, BatchesCostOneCall) {
  open_pair();
  if (!sender_->counters().gso || !receiver_->counters().gro)
    GTEST_SKIP() << "this kernel has no GSO or no GRO";
  const auto data = train_bytes(40 * kSize);
  EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
  EXPECT_EQ(sender_->counters().send_calls, 1u);
  EXPECT_EQ(cut(data, kSize).size(), collect(*receiver_, 40).size());
  EXPECT_EQ(receiver_->counters().receive_calls, 1u);
}

TEST_F(UdpSocketTest, LongTrainIsSplitAtTheKernelsLimits) {
  open_pair();
  const auto data = train_bytes(200 * kSize + 1);
  EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
  expect_arrived(data);
  for (const std::size_t bytes : faults_.segments_sent) EXPECT_LE(bytes, 65507u);

  const std::vector<std::uint8_t> small(300, 9);  // the limit of 64 comes first
  EXPECT_EQ(sender_->send({receiver_->local(), small, 2}).accepted, 300u);
  EXPECT_EQ(collect(*receiver_, 150), cut(small, 2));
}

TEST_F(UdpSocketTest, WorksWithoutGsoAndGro) {
  faults_.has_gso = faults_.has_gro = false;
  open_pair();
  EXPECT_FALSE(sender_->counters().gso);
  EXPECT_FALSE(receiver_->counters().gro);
  const auto data = train_bytes(150 * kSize + 5);
  EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
  EXPECT_TRUE(faults_.segments_sent.empty());
  expect_arrived(data);
}

TEST_F(UdpSocketTest, ReceiveIsBoundedAndTellsThatThereIsMore) {
  faults_.has_gso = faults_.has_gro = false;
  open_pair();
  const auto data = train_bytes(ReceiveBatch::kMessages * kSize + kSize);
  EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
  ASSERT_TRUE(wait_readable(*receiver_));
  std::size_t seen = 0;
  const auto count = [&](const Endpoint&, MutableBytes, Time) { ++seen; };
  EXPECT_TRUE(receiver_->receive(batch_, count));
  EXPECT_EQ(seen, ReceiveBatch::kMessages);
  EXPECT_FALSE(receiver_->receive(batch_, count));
  EXPECT_EQ(seen, ReceiveBatch::kMessages + 1);
  EXPECT_FALSE(receiver_->receive(batch_, count));
}

TEST_F(UdpSocketTest, OverIpv6) {
  try {
    open(address("::1"));
  } catch (const std::runtime_error& error) {
    GTEST_SKIP() << error.what();
  }
  open_pair("::1");
  const auto data = train_bytes(3 * kSize);
  EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
  expect_arrived(data);
  EXPECT_EQ(last_source_, sender_->local());
}

TEST_F(UdpSocketTest, AnyV6TakesIpv4AndAnswersIt) {
  sender_ = open(address("127.0.0.1"));
  receiver_ = open(Endpoint::any(AF_INET6));
  const auto data = train_bytes(3 * kSize);
  const Endpoint there = address("127.0.0.1", receiver_->local().port());
  EXPECT_EQ(sender_->send({there, data, kSize}).accepted, data.size());
  expect_arrived(data);
  EXPECT_EQ(last_source_, sender_->local());
  EXPECT_EQ(receiver_->send({last_source_, data, kSize}).accepted, data.size());
  EXPECT_EQ(collect(*sender_, 3), cut(data, kSize));
  EXPECT_EQ(last_source_, there);
}

TEST_F(UdpSocketTest, PortComesFromTheRange) {
  const auto taken = open(address("127.0.0.1"));
  const std::uint16_t low = taken->local().port();
  const auto high = static_cast<std::uint16_t>(std::min(low + 40, 65535));
  if (high - low < 20) GTEST_SKIP() << "the kernel chose a port at the very end";
  std::vector<std::unique_ptr<UdpSocket>> sockets;
  for (int i = 0; i < 5; ++i) {
    sockets.push_back(open(address("127.0.0.1"), {low, high}));
    EXPECT_GT(sockets.back()->local().port(), low);
    EXPECT_LE(sockets.back()->local().port(), high);
  }
}

TEST_F(UdpSocketTest, NoFreePortIsASentence) {
  const auto taken = open(address("127.0.0.1"));
  const std::uint16_t port = taken->local().port();
  try {
    open(address("127.0.0.1"), {port, port});
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    const std::string number = std::to_string(port);
    EXPECT_EQ(error.what(),
              "binding a UDP socket to 127.0.0.1: no port is free from " + number + " to " + number);
  }
  EXPECT_THROW(open(address("192.0.2.1")), std::runtime_error);  // not an address of ours
}

TEST_F(UdpSocketTest, EioFromGsoSendsTheSameBytesWithoutItAndRemembers) {
  open_pair();
  if (!sender_->counters().gso) GTEST_SKIP() << "this kernel has no GSO";
  faults_.send_errors = {EIO};
  const auto data = train_bytes(130 * kSize + 3);
  EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
  expect_arrived(data);
  EXPECT_FALSE(sender_->counters().gso);
  EXPECT_EQ(faults_.segments_sent.size(), 1u) << "GSO was tried again";
}

TEST_F(UdpSocketTest, InvalidIsGsosFaultWhereTheDatagramsPass) {
  for (const int error : {EINVAL, EMSGSIZE}) {
    open_pair();
    if (!sender_->counters().gso) GTEST_SKIP() << "this kernel has no GSO";
    faults_.send_errors = {error};
    const auto data = train_bytes(10 * kSize);
    EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
    expect_arrived(data);
    EXPECT_FALSE(sender_->counters().gso);
  }
}

TEST_F(UdpSocketTest, TooLongDatagramsAreLostAndGsoStays) {
  open_pair();
  if (!sender_->counters().gso) GTEST_SKIP() << "this kernel has no GSO";
  faults_.send_errors = {EMSGSIZE};
  faults_.send_many_errors = {EMSGSIZE};
  const auto data = train_bytes(2 * kSize);
  const SendResult result = sender_->send(train(data));
  EXPECT_EQ(result.status, Status::kDone);
  EXPECT_EQ(result.accepted, data.size());
  EXPECT_EQ(result.too_large, kSize);
  EXPECT_EQ(sender_->counters().datagrams_refused, 2u);
  EXPECT_EQ(sender_->counters().datagrams_sent, 0u);
  EXPECT_TRUE(sender_->counters().gso);
  EXPECT_TRUE(drain(*receiver_).empty());
}

// The interface has become narrower under a train. Kernels say EINVAL of a GSO segment that is too large.
TEST_F(UdpSocketTest, WhatIsTooLargeCostsOneCallATrainAndASmallerEndGoes) {
  for (const bool gso : {true, false}) {
    faults_.has_gso = gso;
    open_pair();
    if (gso && !sender_->counters().gso) continue;
    if (gso) faults_.send_errors = {EINVAL};
    faults_.send_many_errors = {EMSGSIZE};
    const auto data = train_bytes(40 * kSize + 17);
    const SendResult result = sender_->send(train(data));
    EXPECT_EQ(result.accepted, data.size());
    EXPECT_EQ(result.too_large, kSize);
    EXPECT_EQ(sender_->counters().datagrams_refused, 40u);
    EXPECT_EQ(sender_->counters().send_calls, gso ? 3u : 2u);
    EXPECT_EQ(sender_->counters().gso, gso);
    EXPECT_EQ(collect(*receiver_, 1), cut(Bytes(data).subspan(40 * kSize), kSize));
  }
}

TEST_F(UdpSocketTest, FullBufferInTheMiddleOfATrain) {
  open_pair();
  if (!sender_->counters().gso) GTEST_SKIP() << "this kernel has no GSO";
  faults_.send_errors = {0, EAGAIN};
  const auto data = train_bytes(100 * kSize + 3);
  const SendResult result = sender_->send(train(data));
  EXPECT_EQ(result.status, Status::kWouldBlock);
  EXPECT_EQ(result.accepted, 54 * kSize);  // what fits in 65,507
  expect_rest_completes(data, result);
}

TEST_F(UdpSocketTest, NoBuffersIsToldApart) {
  open_pair();
  if (!sender_->counters().gso) GTEST_SKIP() << "this kernel has no GSO";
  faults_.send_errors = {0, ENOBUFS};
  const auto data = train_bytes(100 * kSize);
  const SendResult result = sender_->send(train(data));
  EXPECT_EQ(result.status, Status::kNoBuffers);
  expect_rest_completes(data, result);
}

TEST_F(UdpSocketTest, PartialSendmmsgThenFullBuffer) {
  faults_.has_gso = false;
  open_pair();
  faults_.send_many_at_most = 7;
  faults_.send_many_errors = {0, EAGAIN};
  const auto data = train_bytes(30 * kSize + 1);
  const SendResult result = sender_->send(train(data));
  EXPECT_EQ(result.status, Status::kWouldBlock);
  EXPECT_EQ(result.accepted, 7 * kSize);
  expect_rest_completes(data, result);
}

TEST_F(UdpSocketTest, PartialSendmmsgGoesOn) {
  faults_.has_gso = false;
  open_pair();
  faults_.send_many_at_most = 29;
  const auto data = train_bytes(30 * kSize + 1);
  EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
  expect_arrived(data);
}

TEST_F(UdpSocketTest, EioThenFullBufferLosesNothing) {
  open_pair();
  if (!sender_->counters().gso) GTEST_SKIP() << "this kernel has no GSO";
  faults_.send_errors = {EIO};
  faults_.send_many_errors = {EAGAIN};
  const auto data = train_bytes(10 * kSize);
  const SendResult result = sender_->send(train(data));
  EXPECT_EQ(result.status, Status::kWouldBlock);
  EXPECT_EQ(result.accepted, 0u);
  expect_rest_completes(data, result);
}

TEST_F(UdpSocketTest, RefusedDatagramIsLostAndTheNextOnesGo) {
  for (const int error : {ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, EPERM}) {
    faults_.has_gso = false;
    open_pair();
    faults_.send_many_errors = {error};
    const auto data = train_bytes(5 * kSize);
    EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
    EXPECT_EQ(sender_->counters().datagrams_refused, 1u);
    EXPECT_EQ(sender_->counters().datagrams_sent, 4u);
    EXPECT_EQ(collect(*receiver_, 4), cut(Bytes(data).subspan(kSize), kSize));
  }
}

TEST_F(UdpSocketTest, RealDatagramTooLongForTheInterfaceIsLost) {
  open_pair();
  const std::vector<std::uint8_t> data(65508, 1);
  const SendResult result = sender_->send({receiver_->local(), data, data.size()});
  EXPECT_EQ(result.accepted, data.size());
  EXPECT_EQ(result.too_large, 65508u);
  EXPECT_EQ(sender_->counters().datagrams_refused, 1u);
}

TEST_F(UdpSocketTest, TheLargestDatagramOfAllArrives) {
  open_pair();
  const auto data = train_bytes(65507);
  EXPECT_EQ(sender_->send({receiver_->local(), data, data.size()}).too_large, 0u);
  EXPECT_EQ(collect(*receiver_, 1), std::vector<Datagram>{data});
}

TEST_F(UdpSocketTest, HintOnReceiveHidesNothing) {
  open_pair();
  const auto data = train_bytes(kSize);
  EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
  faults_.receive_errors = {ECONNREFUSED, EHOSTUNREACH};
  expect_arrived(data);
  EXPECT_EQ(receiver_->counters().receive_errors, 2u);
}

TEST_F(UdpSocketTest, PortNobodyListensOnChangesNothing) {
  open_pair();
  const Endpoint nobody = open(address("127.0.0.1"))->local();
  const auto data = train_bytes(2 * kSize);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sender_->send({nobody, data, kSize}).accepted, data.size());
  EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
  expect_arrived(data);
  EXPECT_TRUE(drain(*sender_).empty());
}

TEST_F(UdpSocketTest, TruncatedMessageIsDroppedAndCounted) {
  for (const int flag : {MSG_TRUNC, MSG_CTRUNC}) {
    open_pair();
    const auto data = train_bytes(5 * kSize);
    EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
    const std::vector<std::uint8_t> whole(10, 3);
    EXPECT_EQ(sender_->send({receiver_->local(), whole, 10}).accepted, 10u);
    faults_.damage = [flag](std::span<mmsghdr> messages) { messages[0].msg_hdr.msg_flags |= flag; };
    ASSERT_TRUE(wait_readable(*receiver_));
    EXPECT_EQ(drain(*receiver_).back(), whole);
    EXPECT_EQ(receiver_->counters().truncated, 1u);
    faults_.damage = nullptr;
  }
}

TEST_F(UdpSocketTest, EmptyDatagramIsSkipped) {
  open_pair();
  const Endpoint to = receiver_->local();
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::sendto(fd, "", 0, 0, to.data(), to.size()), 0);
  EXPECT_EQ(::sendto(fd, "x", 1, 0, to.data(), to.size()), 1);
  ::close(fd);
  EXPECT_EQ(collect(*receiver_, 1), std::vector<Datagram>{{'x'}});
}

TEST_F(UdpSocketTest, KernelDropsAreCounted) {
  faults_.has_gso = false;
  sender_ = open(address("127.0.0.1"));
  receiver_ = open(address("127.0.0.1"), {}, 1);  // the kernel's least, a datagram or two
  const auto data = train_bytes(50 * kSize);
  EXPECT_EQ(sender_->send(train(data)).accepted, data.size());
  ASSERT_TRUE(wait_readable(*receiver_));
  const std::size_t before = drain(*receiver_).size();
  EXPECT_LT(before, 50u);
  EXPECT_EQ(sender_->send(train(train_bytes(kSize))).accepted, kSize);  // brings the count with it
  ASSERT_TRUE(wait_readable(*receiver_));
  EXPECT_EQ(drain(*receiver_).size(), 1u);
  EXPECT_EQ(receiver_->counters().kernel_drops, 50 - before);
}

TEST_F(UdpSocketTest, WaitsForReadabilityAndAbortsAtTheEnd) {
  open_pair();
  std::vector<std::error_code> seen;
  const auto note = [&](std::error_code error) { seen.push_back(error); };
  sender_->async_wait_writable(note);
  io_.run();
  ASSERT_EQ(seen, std::vector<std::error_code>{std::error_code()});
  receiver_->async_wait_readable(note);
  io_.restart();
  io_.poll();
  EXPECT_EQ(seen.size(), 1u);
  receiver_.reset();
  io_.restart();
  io_.run();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1], std::error_code(asio::error::operation_aborted));
}

}  // namespace
}  // namespace mcdtp
