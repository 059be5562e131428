#include "common/core/loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace mcdtp {
namespace {

using namespace std::chrono_literals;
using State = SentPacket::State;

class Loss : public testing::Test {
 protected:
  void send(Duration when, State state = State::kOutstanding) {
    SentPacket packet;
    packet.sent_at = Time{} + when;
    packet.size = 1000;
    packet.state = state;
    if (state == State::kOutstanding) loss.on_sent_asking(packet.sent_at, sent, false);
    sent.add(std::move(packet));
  }
  ReportNews report(Duration when, std::vector<Range> ranges, Duration delay = {}) {
    ReportNews news;
    EXPECT_TRUE(loss.on_report(Time{} + when, Time{} + when,
                               {0, ++sequence, delay, 0, 0, 0, 0, std::move(ranges)}, sent, news));
    return news;
  }
  std::vector<PacketNumber> lost(Duration when, Duration report_delay = {}) {
    return loss.detect_lost(Time{} + when, Time{} + when, report_delay, sent);
  }

  SentPackets sent;
  LossDetector loss;
  std::uint64_t sequence = 0;
};

using Numbers = std::vector<PacketNumber>;

// A host that stood still meanwhile finds it later.
TEST_F(Loss, TheRoundTripEndsWhereTheReportArrives) {
  send(0ms);
  ReportNews news;
  ASSERT_TRUE(loss.on_report(Time{} + 150ms, Time{} + 60ms, {0, 1, 10ms, 0, 0, 0, 0, {{0, 1}}}, sent, news));
  EXPECT_EQ(news.rtt, 50ms);
  EXPECT_EQ(loss.waiting_since(), Time{} + 150ms);
}

TEST_F(Loss, ThreeLaterPacketsMakeOneLost) {
  for (int i = 0; i < 5; ++i) send(i * 1ms);
  report(100ms, {{1, 3}});
  EXPECT_EQ(lost(100ms), Numbers{});
  report(101ms, {{1, 4}});
  EXPECT_EQ(lost(101ms), Numbers{0});
  EXPECT_EQ(sent.find(0)->state, State::kLost);
}

TEST_F(Loss, TimeMakesOneLost) {
  send(0ms);
  send(1ms);
  report(101ms, {{1, 2}});
  EXPECT_EQ(lost(101ms), Numbers{});
  EXPECT_EQ(loss.loss_timer(), Time{} + 112500us);
  EXPECT_EQ(lost(112ms), Numbers{});
  EXPECT_EQ(lost(112500us), Numbers{0});
  EXPECT_EQ(loss.loss_timer(), kNever);
}

// What came later than that is not read yet.
TEST_F(Loss, TimeCountsUntilTheReportCame) {
  send(0ms);
  send(1ms);
  report(101ms, {{1, 2}});
  EXPECT_EQ(loss.detect_lost(Time{} + 200ms, Time{} + 112ms, {}, sent), Numbers{});
  EXPECT_EQ(loss.detect_lost(Time{} + 200ms, Time{} + 113ms, {}, sent), Numbers{0});
  EXPECT_EQ(sent.find(0)->lost_at, Time{} + 200ms);
}

// A receiver that stood still has more to report.
TEST_F(Loss, TheTimeThatAReportWasHeldIsAllowedForOlderOnes) {
  send(0ms);
  send(1ms);
  report(201ms, {{1, 2}}, 100ms);
  EXPECT_EQ(loss.rtt().smoothed(), 100ms);
  EXPECT_EQ(lost(212ms), Numbers{});
  EXPECT_EQ(lost(213ms), Numbers{0});
}

// A clock that slept, or a peer that errs.
TEST_F(Loss, AReportHeldForLongerThanItsPacketWasOnItsWayAllowsForNothing) {
  send(0ms);
  send(1ms);
  send(2ms);
  report(101ms, {{1, 2}});
  report(102ms, {{1, 3}}, 1h);
  EXPECT_EQ(lost(112499us), Numbers{});
  EXPECT_EQ(lost(112500us), Numbers{0});
}

// Long ago is when the report came, and not when it is read.
TEST_F(Loss, ReorderingIsKnownForSixteenRoundTripsOfWhatIsRead) {
  for (int i = 0; i < 30; ++i) send(i * 1ms);
  report(40ms, {{25, 30}});
  lost(41ms);
  ReportNews news;
  ASSERT_TRUE(
      loss.on_report(Time{} + 10s, Time{} + 42ms, {0, ++sequence, {}, 0, 0, 0, 0, {{5, 30}}}, sent, news));
  const PacketNumber learnt = loss.reordering().packets();
  EXPECT_GT(learnt, Reordering::kMinPackets);
  EXPECT_EQ(loss.detect_lost(Time{} + 10s, Time{} + 42ms, {}, sent), Numbers{});
  EXPECT_EQ(loss.reordering().packets(), learnt);
  EXPECT_EQ(lost(10s), Numbers{});
  EXPECT_LT(loss.reordering().packets(), learnt);
}

TEST_F(Loss, TellsWhatTimeAReportCovers) {
  for (int i = 0; i < 10; ++i) send(i * 10ms);
  EXPECT_EQ(report(100ms, {{1, 4}}).covered_span, 20ms);
  EXPECT_EQ(report(110ms, {{1, 4}}).covered_span, 0ms);
  EXPECT_EQ(report(120ms, {{0, 6}}).covered_span, 50ms);
  ++sequence;
  EXPECT_EQ(report(130ms, {{0, 9}}).covered_span, 0ms) << "one is missing";
  sequence -= 2;
  EXPECT_EQ(report(140ms, {{0, 9}}).covered_span, 0ms) << "it was overtaken";
}

TEST_F(Loss, NothingIsLostBeforeALaterOneCame) {
  send(0ms);
  EXPECT_EQ(lost(10s), Numbers{});
}

TEST_F(Loss, RttIsOfTheNewestWithoutTheReceiversDelay) {
  send(0ms);
  send(10ms);
  EXPECT_EQ(report(150ms, {{0, 2}}, 40ms).rtt, 100ms);
  EXPECT_EQ(loss.rtt().smoothed(), 100ms);
  EXPECT_EQ(loss.rtt().variation(), 50ms);
  // The newest is known already: no sample.
  send(20ms, State::kSilent);
  EXPECT_FALSE(report(160ms, {{0, 3}}).rtt);
  send(200ms);
  report(360ms, {{0, 4}});
  EXPECT_EQ(loss.rtt().smoothed(), 107500us);
  EXPECT_EQ(loss.rtt().min(), 100ms);
}

// What a silence was taken to have lost may have come, and only its reports have not.
TEST_F(Loss, WhatNoLaterOneOvertookTeachesNothingOfTheOrder) {
  send(0ms);
  report(100ms, {{0, 1}});
  for (int i = 0; i < 50; ++i) send(200ms);
  for (PacketNumber n = 1; n < 51; ++n) sent.resolve(*sent.find(n), State::kLost);  // as of who is doubted
  EXPECT_EQ(report(900ms, {{0, 51}}).covered_late.size(), 50u);
  for (int i = 0; i < 4; ++i) send(1000ms + i * 1ms);
  report(1100ms, {{52, 55}});
  EXPECT_EQ(lost(1100ms), Numbers{51});
}

// One of us was stopped, and what came lay there for an hour.
TEST_F(Loss, ASampleOfHoursIsNotBelievedAtOnce) {
  send(0ms);
  report(100ms, {{0, 1}});
  send(200ms);
  EXPECT_LE(report(1h, {{0, 2}}).rtt, 1500ms);
  EXPECT_LE(loss.rtt().smoothed(), 300ms);
  // A path that has become that slow is believed in time.
  for (PacketNumber n = 2; n < 100; ++n) {
    send(2h + 10min * n);
    report(2h + 10min * n + 30s, {{0, n + 1}});
  }
  EXPECT_GE(loss.rtt().smoothed(), 29s);
}

TEST_F(Loss, NorIsTheFirstButALongOneMayBeThePaths) {
  send(0ms);
  EXPECT_EQ(report(1h, {{0, 1}}).rtt, 5s);
}

// The clock of a host that sleeps may stand still, and the peer's goes on.
TEST_F(Loss, ADelayLongerThanTheTripCoversAndGivesNoSample) {
  send(0ms);
  report(100ms, {{0, 1}});
  send(200ms);
  const ReportNews news = report(201ms, {{0, 2}}, 1h);
  EXPECT_EQ(news.covered, Numbers{1});
  EXPECT_FALSE(news.rtt);
  EXPECT_EQ(loss.rtt().min(), 100ms);
}

TEST_F(Loss, ReportOfANumberNeverSentChangesNothing) {
  send(0ms);
  ReportNews news;
  EXPECT_FALSE(loss.on_report(Time{}, Time{}, {0, 5, {}, 0, 0, 0, 0, {{0, 2}}}, sent, news));
  EXPECT_EQ(sent.packets_outstanding(), 1u);
  EXPECT_EQ(report(1ms, {{0, 1}}).covered, Numbers{0});
}

TEST_F(Loss, AnOvertakenReportCoversButGivesNoSample) {
  send(0ms);
  send(0ms);
  sequence = 7;
  report(1ms, {{1, 2}});
  sequence = 5;
  const ReportNews news = report(2ms, {{0, 1}});
  EXPECT_EQ(news.covered, Numbers{0});
  EXPECT_FALSE(news.rtt);
  // The newer one keeps its rank.
  send(3ms);
  sequence = 6;
  EXPECT_FALSE(report(4ms, {{0, 3}}).rtt);
  EXPECT_EQ(sent.packets_outstanding(), 0u);
}

TEST_F(Loss, SpuriousLossRaisesTheThreshold) {
  for (int i = 0; i < 10; ++i) send(0ms);
  report(100ms, {{5, 6}});
  EXPECT_EQ(lost(100ms), (Numbers{0, 1, 2}));
  EXPECT_EQ(report(101ms, {{0, 6}}).covered_late, (Numbers{0, 1, 2}));
  EXPECT_EQ(loss.reordering().packets(), 6u);
  report(102ms, {{9, 10}, {0, 6}});
  EXPECT_EQ(lost(102ms), Numbers{});
}

// What comes a little late stands in the next report.
TEST_F(Loss, TimeCountsTheWaitForAReport) {
  send(0ms);
  send(1ms);
  report(101ms, {{1, 2}});
  EXPECT_EQ(lost(112500us, 25ms), Numbers{});
  EXPECT_EQ(loss.loss_timer(), Time{} + 137500us);
  EXPECT_EQ(lost(137500us, 25ms), Numbers{0});
}

TEST_F(Loss, SpuriousLossLengthensTheTime) {
  send(0ms);
  send(0ms);
  report(100ms, {{1, 2}});
  EXPECT_EQ(lost(113ms), Numbers{0});
  report(130ms, {{0, 2}});
  EXPECT_EQ(loss.reordering().allowance(), 30ms);
  send(200ms);
  send(200ms);
  report(300ms, {{3, 4}, {0, 2}});
  EXPECT_EQ(lost(342ms), Numbers{});
  EXPECT_EQ(lost(343ms), Numbers{2});
}

TEST(Reordering, IsForgottenInTime) {
  Reordering reordering;
  reordering.on_spurious(Time{}, 100, 80ms, 50ms);
  EXPECT_EQ(reordering.packets(), 101u);
  EXPECT_EQ(reordering.allowance(), 50ms);
  reordering.fade(Time{} + 799ms, 50ms);
  EXPECT_EQ(reordering.packets(), 101u);
  for (Duration when = 800ms; when <= 8s; when += 800ms) reordering.fade(Time{} + when, 50ms);
  EXPECT_EQ(reordering.packets(), Reordering::kMinPackets);
  EXPECT_LE(reordering.allowance(), 1ms);
}

TEST_F(Loss, ProbeTimerBacksOffAndASignOfLifeEndsThat) {
  EXPECT_EQ(loss.probe_timer(sent, 50ms), kNever);
  send(0ms);
  const Duration first = loss.probe_timer(sent, 50ms) - Time{};
  EXPECT_EQ(first, 333ms + 2 * 333ms + 50ms);
  loss.on_probe_timeout();
  loss.on_sent_asking(Time{} + first, sent, true);
  EXPECT_EQ(loss.probe_timer(sent, 50ms) - Time{}, 3 * first);
  send(first);
  report(1100ms, {{1, 2}});
  EXPECT_EQ(loss.probes_unanswered(), 0);
}

// A channel that dies while it is busy is noticed, however much is sent on it.
TEST_F(Loss, ProbeTimerIsNotPutOffBySending) {
  send(0ms);
  const Time due = loss.probe_timer(sent, 50ms);
  for (int i = 1; i < 100; ++i) send(i * 10ms);
  EXPECT_EQ(loss.probe_timer(sent, 50ms), due);
  report(500ms, {{0, 1}});
  EXPECT_GT(loss.probe_timer(sent, 50ms), Time{} + 500ms);
}

TEST_F(Loss, ALateReportIsASignOfLifeToo) {
  send(0ms);
  send(0ms);
  sent.find(0)->lost_at = Time{};
  sent.resolve(*sent.find(0), State::kLost);
  loss.on_probe_timeout();
  report(1s, {{0, 1}});
  EXPECT_EQ(loss.probes_unanswered(), 0);
}

// What a report says and who is lost by it, found by looking at every number each time.
class SimpleForm {
 public:
  Numbers on_report(const std::vector<Range>& ranges, SentPackets& sent) {
    Numbers fresh;
    largest_ = std::max(largest_.value_or(0), ranges.front().end - 1);
    for (const Range& range : ranges) {
      for (PacketNumber n = range.begin; n < range.end; ++n) {
        SentPacket* packet = sent.find(n);
        if (packet == nullptr || packet->state == State::kCovered) continue;
        if (packet->state != State::kSilent) fresh.push_back(n);
        sent.resolve(*packet, State::kCovered);
      }
    }
    return fresh;
  }
  Numbers detect_lost(Time now, Duration threshold, PacketNumber packets, SentPackets& sent) {
    Numbers lost;
    for (PacketNumber n = sent.first(); largest_ && n < *largest_; ++n) {
      SentPacket& packet = *sent.find(n);
      if (packet.state != State::kOutstanding) continue;
      if (*largest_ - n < packets && packet.sent_at + threshold > now) continue;
      packet.lost_at = now;
      sent.resolve(packet, State::kLost);
      lost.push_back(n);
    }
    return lost;
  }

 private:
  std::optional<PacketNumber> largest_;
};

std::vector<Range> random_report(std::mt19937& random, PacketNumber first, PacketNumber next) {
  std::vector<Range> ranges;
  for (PacketNumber end = next - random() % std::min<PacketNumber>(next, 4); end > 0 && end + 60 > first;) {
    const PacketNumber size = std::min<PacketNumber>(end, 1 + random() % 9);
    ranges.push_back({end - size, end});
    end -= std::min<PacketNumber>(end - size + 1, 1 + random() % 3) + size - 1;
    if (ranges.back().begin <= end) end = ranges.back().begin > 0 ? ranges.back().begin - 1 : 0;
  }
  return ranges;
}

Numbers both(const ReportNews& news) {
  Numbers numbers = news.covered;
  numbers.insert(numbers.end(), news.covered_late.begin(), news.covered_late.end());
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

TEST_F(Loss, IsTheSameAsTheSimpleForm) {
  std::mt19937 random(1);
  SentPackets other;
  SimpleForm simple;
  Duration now{};
  for (int step = 0; step < 3000; ++step) {
    now += microseconds(random() % 3000);
    for (auto packets = random() % 8; packets > 0; --packets) {
      const State state = random() % 10 == 0 ? State::kSilent : State::kOutstanding;
      send(now, state);
      SentPacket packet;
      packet.sent_at = Time{} + now;
      packet.size = 1000;
      packet.state = state;
      other.add(std::move(packet));
    }
    if (sent.next() == 0) continue;
    const auto ranges = random_report(random, sent.first(), sent.next());
    Numbers expected = simple.on_report(ranges, other);
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(both(report(now, ranges)), expected) << step;
    const RttEstimator& rtt = loss.rtt();
    const Duration longest = std::max(rtt.smoothed(), rtt.latest());
    const Numbers verdict = lost(now);
    const Duration threshold = std::max<Duration>(longest + longest / 8 + loss.reordering().allowance(), 1ms);
    ASSERT_EQ(verdict, simple.detect_lost(Time{} + now, threshold, loss.reordering().packets(), other))
        << step;
    ASSERT_EQ(sent.packets_outstanding(), other.packets_outstanding()) << step;
    sent.forget(Time{} + now - 30ms);
    other.forget(Time{} + now - 30ms);
  }
}

}  // namespace
}  // namespace mcdtp
