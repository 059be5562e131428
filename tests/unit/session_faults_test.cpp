#include <gtest/gtest.h>

#include <vector>

#include "common/core/session.h"

namespace mcdtp {
namespace {

// A server that asks and asks, and reports nothing of our answers, would have us keep what we sent for ever.
TEST(SessionFaults, NoReportsOfAStreamChannel) {
  Time now{seconds(1000)};
  SessionConfig config;
  config.congestion = [] { return make_congestion("auto", std::nullopt); };
  Session session(now, config);
  session.add_stream_channel(now, kSshChannel);
  const std::array<std::uint8_t, 1> ping{1};
  std::vector<std::uint8_t> room(16 * 1024);
  std::optional<SessionEvent> event;
  const auto is_fault = [&] { return event && event->kind == SessionEventKind::kPeerFault; };
  PacketNumber number = 0;
  for (; !is_fault() && number < 1'000'000; ++number) {
    now += milliseconds(1);
    session.on_packet(now, kSshChannel, 0, number, kCarriesNewBytes, ping, 13);
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

}  // namespace
}  // namespace mcdtp
