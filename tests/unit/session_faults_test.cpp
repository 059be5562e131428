#include <gtest/gtest.h>

#include <vector>

#include "common/core/session.h"

namespace mcdtp {
namespace {

constexpr Time kBegin{seconds(1000)};

SessionConfig config_of(Role role) {
  SessionConfig config;
  config.role = role;
  config.congestion = [] { return make_congestion("auto", std::nullopt); };
  return config;
}

// A server that asks and asks, and reports nothing of our answers, would have us keep what we sent for ever.
TEST(SessionFaults, NoReportsOfAStreamChannel) {
  Time now = kBegin;
  Session session(now, config_of(Role::kClient));
  session.add_stream_channel(now, kSshChannel);
  const std::array<std::uint8_t, 1> ping{1};
  std::vector<std::uint8_t> room(16 * 1024);
  std::optional<SessionEvent> event;
  const auto is_fault = [&] { return event && event->kind == SessionEventKind::kPeerFault; };
  PacketNumber number = 0;
  for (; !is_fault() && number < 1'000'000; ++number) {
    now += milliseconds(1);
    session.on_packet(now, now, kSshChannel, 0, number, kCarriesNewBytes, ping, 13);
    session.on_timeout(now);
    while (session.poll_packet(now, kSshChannel, room)) {
    }
    while (!is_fault() && (event = session.poll_event())) {
    }
  }
  ASSERT_TRUE(is_fault());
  EXPECT_EQ(event->text, "no report of what goes over SSH or TCP");
  EXPECT_LT(session.channel(kSshChannel)->sent.packets().size(), 300'000U);
}

// Nor may it leave out one of them for ever: all that follow would be kept behind it.
TEST(SessionFaults, AReportOfAStreamChannelWithAHole) {
  Session session(kBegin, config_of(Role::kClient));
  session.add_stream_channel(kBegin, kSshChannel);
  std::vector<std::uint8_t> room(16 * 1024);
  std::array<std::uint8_t, 256> frames{};
  PacketNumber number = 0;
  for (; number < 5; ++number) {
    const Time now = kBegin + (number + 1) * milliseconds(100);
    const std::array<std::uint8_t, 1> ping{1};
    session.on_packet(now, now, kSshChannel, 0, number, kCarriesNewBytes, ping, 13);
    session.on_timeout(now);
    while (session.poll_packet(now, kSshChannel, room)) {
    }
  }
  ASSERT_GT(session.channel(kSshChannel)->sent.next(), 2U);
  Writer out(frames);
  write_report(out, {kSshChannel, 1, {}, 0, 0, 0, 0, {{1, 3}}}, frames.size());
  session.on_packet(kBegin, kBegin, kSshChannel, 0, number, kCarriesNewBytes, Bytes(frames).first(out.size()),
                    64);
  std::string fault;
  while (const auto event = session.poll_event()) {
    if (event->kind == SessionEventKind::kPeerFault) fault = event->text;
  }
  EXPECT_EQ(fault, "a report that leaves out what went over SSH or TCP before");
}

// A client that opens streams, gives each up at once and reports nothing of what it is told of them.
class OpensForEver {
 public:
  OpensForEver() { server_.add_stream_channel(kBegin, kSshChannel); }

  void open(std::uint64_t count) {
    for (; count > 0 && !fault_; --count) open_one();
  }
  const std::optional<std::string>& fault() const { return fault_; }
  std::uint64_t opened() const { return number_; }

 private:
  void open_one() {
    const StreamId id = kFirstClientStream + 2 * number_;
    std::array<std::uint8_t, 256> frames{};
    Writer out(frames);
    for (const ControlFrame& frame :
         {ControlFrame{OpenFrame{id, "x"}}, ControlFrame{ResetFrame{id, 0}}, ControlFrame{StopFrame{id}}})
      write_frame(out, frame);
    server_.on_packet(kBegin, kBegin, kSshChannel, 0, number_++, kCarriesNewBytes,
                      Bytes(frames).first(out.size()), 256);
    while (const auto news = server_.poll_stream_news()) {
      if (news->kind == StreamNews::Kind::kOpened)
        server_.streams().refuse(news->stream, ResetReason::kRefused);
    }
    while (server_.poll_packet(kBegin, kSshChannel, room_)) {
    }
    while (const auto event = server_.poll_event()) {
      if (event->kind == SessionEventKind::kPeerFault) fault_ = event->text;
    }
  }

  Session server_{kBegin, config_of(Role::kServer)};
  std::vector<std::uint8_t> room_ = std::vector<std::uint8_t>(16 * 1024);
  std::uint64_t number_ = 0;
  std::optional<std::string> fault_;
};

TEST(SessionFaults, NoReportsOfWhatAnswersStreams) {
  OpensForEver client;
  client.open(8192);
  EXPECT_EQ(client.fault(), std::nullopt);
  client.open(100'000);
  EXPECT_EQ(client.fault(), "no report of what answers its streams");
  EXPECT_LT(client.opened(), 100'000U);
}

}  // namespace
}  // namespace mcdtp
