#include <gtest/gtest.h>

#include <vector>

#include "common/core/session.h"

namespace mcdtp {
namespace {

using namespace std::chrono_literals;

constexpr Time kBegin{seconds(1000)};
constexpr Duration kRtt = 100ms;

SessionConfig sender_config() {
  SessionConfig config;
  config.role = Role::kClient;
  config.channels = 1;
  config.congestion = [] { return make_congestion("fixed", 100'000'000); };
  return config;
}

// A session that sends on one datagram channel; the test reports what it likes.
class Sender {
 public:
  Sender() {
    session_.add_stream_channel(kBegin, kSshChannel);
    session_.add_datagram_channel(kBegin, 0, {0});
    poll(kBegin);
    report(kBegin + kRtt, kBegin + kRtt, {{0, next()}});
  }

  bool is_proved() const { return session_.channel(0)->proved(); }
  // The number of the packet that is sent next.
  PacketNumber next() const { return session_.channel(0)->sent.next(); }
  std::uint64_t lost() const { return session_.statistics().packets_lost; }
  // One packet of data.
  void send(Time now) {
    const MutableBytes room = session_.streams().write_room(kStdio);
    session_.streams().wrote(kStdio, std::min<std::size_t>(room.size(), 1000));
    poll(now);
  }
  // A report that came at `arrived`.
  void report(Time now, Time arrived, std::vector<Range> ranges) {
    ReportFrame frame;
    frame.sequence = ++reports_;
    frame.ranges = std::move(ranges);
    std::array<std::uint8_t, 200> bytes{};
    Writer out(bytes);
    write_report(out, frame, out.remaining());
    session_.on_packet(now, arrived, 0, 0, reports_, 0, Bytes(bytes).first(out.size()), 200);
  }

 private:
  void poll(Time now) {
    session_.on_timeout(now);
    std::vector<std::uint8_t> room(session_.packet_room(0));
    while (session_.poll_packet(now, 0, room)) {
    }
  }

  Session session_{kBegin, sender_config()};
  std::uint64_t reports_ = 0;
};

// What overtook it came long before it is read by a host that stood still, and the next report is still to be read.
TEST(SessionReports, LossesAreJudgedAsOfTheirArrival) {
  for (const Duration stood_still : {0ms, 500ms}) {
    Sender sender;
    ASSERT_TRUE(sender.is_proved());
    const Time sent = kBegin + kRtt + 1ms;
    const PacketNumber overtaken = sender.next();
    sender.send(sent);
    sender.send(sent + 1ms);
    ASSERT_EQ(sender.next(), overtaken + 2);
    const Time arrived = sent + kRtt + 1ms;
    sender.report(arrived + stood_still, arrived, {{overtaken + 1, overtaken + 2}, {0, overtaken}});
    EXPECT_EQ(sender.lost(), 0u) << to_seconds(stood_still);
    sender.report(arrived + stood_still, arrived + 2ms, {{0, overtaken + 2}});
    EXPECT_EQ(sender.lost(), 0u) << to_seconds(stood_still);
  }
}

}  // namespace
}  // namespace mcdtp
