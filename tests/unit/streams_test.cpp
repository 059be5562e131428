#include "common/core/streams.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

using Kind = StreamNews::Kind;

// One side's streams, with what they want to say and to tell.
struct Side {
  explicit Side(Role role) : streams(role, control, news) {}

  void write(StreamId id, std::size_t size) {
    while (size > 0) {
      MutableBytes room = streams.write_room(id);
      ASSERT_FALSE(room.empty());
      room = room.first(std::min(room.size(), size));
      std::fill(room.begin(), room.end(), std::uint8_t{'x'});
      streams.wrote(id, room.size());
      size -= room.size();
    }
  }
  std::uint64_t read_all(StreamId id) {
    std::uint64_t total = 0;
    while (!streams.readable(id).empty()) {
      const std::size_t size = streams.readable(id).size();
      streams.consume(id, size);
      total += size;
    }
    return total;
  }
  std::size_t count_news(Kind kind, StreamId id) const {
    return static_cast<std::size_t>(std::count_if(
        news.begin(), news.end(), [&](const StreamNews& n) { return n.kind == kind && n.stream == id; }));
  }
  template <typename T>
  std::vector<T> waiting() {
    std::vector<T> found;
    ControlQueue rest = control;
    for (; !rest.empty(); rest.pop()) {
      if (const T* frame = std::get_if<T>(&rest.front())) found.push_back(*frame);
    }
    return found;
  }
  std::optional<std::string> data(StreamId id, std::uint64_t offset, std::size_t size) {
    const std::vector<std::uint8_t> bytes(size, 'x');
    return streams.on_data(Time{} + seconds(1), {id, offset, bytes}, milliseconds(10));
  }
  // Sends all that may be sent, in packets; returns how much.
  std::uint64_t take_all() {
    std::uint64_t total = 0;
    while (const auto piece = streams.take(1000)) total += piece->piece.size;
    return total;
  }

  ControlQueue control;
  std::deque<StreamNews> news;
  Streams streams;
};

TEST(Streams, CreditGoesOnAfterTheEndIsKnown) {
  Side receiver(Role::kServer);
  // FIN takes no credit: it comes before the bytes that lead there may be sent.
  EXPECT_FALSE(receiver.streams.on_fin({kStdio, 3 * kInitialStreamWindow}));
  EXPECT_FALSE(receiver.data(kStdio, 0, kInitialStreamWindow));
  EXPECT_EQ(receiver.read_all(kStdio), kInitialStreamWindow);
  const auto credit = receiver.waiting<StreamCreditFrame>();
  ASSERT_EQ(credit.size(), 1u);
  EXPECT_GE(credit[0].limit, 2 * kInitialStreamWindow);
  // Lost, it is said again while there is more to come.
  EXPECT_TRUE(receiver.streams.renewed(credit[0]));
}

TEST(Streams, NoCreditOnceAllHasBeenSent) {
  Side receiver(Role::kServer);
  EXPECT_FALSE(receiver.data(kStdio, 0, kInitialStreamWindow));
  EXPECT_FALSE(receiver.streams.on_fin({kStdio, kInitialStreamWindow}));
  receiver.read_all(kStdio);
  EXPECT_TRUE(receiver.waiting<StreamCreditFrame>().empty());
  EXPECT_FALSE(receiver.streams.renewed(StreamCreditFrame{kStdio, 1}));
}

TEST(Streams, StopThatOvertakesItsOpen) {
  Side taker(Role::kServer);
  taker.streams.on_stop({kFirstClientStream});
  EXPECT_EQ(taker.waiting<ResetFrame>().size(), 1u);
  EXPECT_TRUE(taker.news.empty());
  EXPECT_FALSE(taker.streams.on_open({kFirstClientStream, "x"}));
  ASSERT_EQ(taker.news.size(), 2u);
  EXPECT_EQ(taker.news[0].kind, Kind::kOpened);
  EXPECT_EQ(taker.news[1].kind, Kind::kStopped);
  EXPECT_TRUE(taker.streams.write_room(kFirstClientStream).empty());
}

TEST(Streams, CreditThatOvertakesItsOpen) {
  Side taker(Role::kServer);
  taker.streams.on_stream_credit({kFirstClientStream, 3 * kInitialStreamWindow});
  taker.streams.on_session_credit({100 * kInitialStreamWindow});
  EXPECT_FALSE(taker.streams.on_open({kFirstClientStream, "x"}));
  std::uint64_t sent = 0;
  for (int i = 0; i < 7; ++i) {
    taker.write(kFirstClientStream, Streams::kWriteAhead);
    sent += taker.take_all();
  }
  EXPECT_EQ(sent, 3 * kInitialStreamWindow);
}

TEST(Streams, StreamsMadeLaterHaveTheGrownWindow) {
  Side receiver(Role::kServer);
  Time now{};
  std::uint64_t at = 0;
  for (int i = 0; i < 40; ++i) {
    now += milliseconds(10);
    const std::vector<std::uint8_t> bytes(400'000, 'x');
    ASSERT_FALSE(receiver.streams.on_data(now, {kStdio, at, bytes}, milliseconds(10)));
    at += bytes.size();
    receiver.read_all(kStdio);
  }
  while (!receiver.control.empty()) receiver.control.pop();
  ASSERT_FALSE(receiver.streams.on_open({kFirstClientStream, "x"}));
  ASSERT_FALSE(receiver.data(kFirstClientStream, 0, 1000));
  receiver.read_all(kFirstClientStream);
  const auto credit = receiver.waiting<StreamCreditFrame>();
  ASSERT_EQ(credit.size(), 1u);
  EXPECT_GT(credit[0].limit, 2 * kInitialStreamWindow);
}

TEST(Streams, ResetAfterFinishMayArriveInAnyOrder) {
  for (const bool fin_first : {true, false}) {
    Side sender(Role::kClient), receiver(Role::kServer);
    sender.write(kStdio, 3 * kInitialStreamWindow / 8);
    sender.streams.take(1000);
    sender.streams.finish(kStdio);
    sender.streams.on_stop({kStdio});
    const FinFrame fin = sender.waiting<FinFrame>().at(0);
    const ResetFrame reset = sender.waiting<ResetFrame>().at(0);
    EXPECT_LT(reset.final_size, fin.final_size);
    if (fin_first) {
      EXPECT_FALSE(receiver.streams.on_fin(fin));
    }
    EXPECT_FALSE(receiver.streams.on_reset(reset));
    EXPECT_FALSE(receiver.streams.on_fin(fin));
    EXPECT_FALSE(receiver.data(kStdio, 0, 900));
    EXPECT_TRUE(receiver.streams.was_reset(kStdio) && receiver.streams.read_to_end(kStdio));
  }
}

TEST(Streams, DiscardedAndResetBytesGiveTheirSessionCreditBack) {
  Side receiver(Role::kServer);
  for (StreamId id = kFirstClientStream; id < 60; id += 2) {
    ASSERT_FALSE(receiver.streams.on_open({id, "x"}));
    ASSERT_FALSE(receiver.data(id, 0, 100'000)) << id;
    if (id % 4 == 0) {
      receiver.streams.stop(id);
      ASSERT_FALSE(receiver.data(id, 100'000, 100'000)) << id;
    }
    ASSERT_FALSE(receiver.streams.on_reset({id, 500'000})) << id;
  }
  EXPECT_GT(receiver.waiting<SessionCreditFrame>().at(0).limit, 30u * 450'000);
}

TEST(Streams, SessionCreditIsAHardBound) {
  Side receiver(Role::kServer);
  const std::size_t whole = kInitialStreamWindow;
  for (StreamId id = 2; id < 10; id += 2) ASSERT_FALSE(receiver.data(id, 0, whole));
  EXPECT_EQ(receiver.data(10, 0, 1), "the session went beyond its credit");
  Side other(Role::kServer);
  for (StreamId id = 2; id < 10; id += 2) ASSERT_FALSE(other.data(id, 0, whole));
  EXPECT_EQ(other.streams.on_reset({10, 1}), "the session went beyond its credit");
}

TEST(Streams, WriterWaitsAndIsTold) {
  Side sender(Role::kClient);
  sender.write(kStdio, Streams::kWriteAhead);
  EXPECT_TRUE(sender.streams.write_room(kStdio).empty());
  EXPECT_EQ(sender.count_news(Kind::kWritable, kStdio), 0u);
  sender.streams.take(1000);
  EXPECT_EQ(sender.count_news(Kind::kWritable, kStdio), 1u);
  EXPECT_FALSE(sender.streams.write_room(kStdio).empty());
}

// A peer that grants all and reports nothing does not get our memory.
TEST(Streams, WhatIsKeptForAPeerIsBounded) {
  Side sender(Role::kClient);
  sender.streams.set_memory(kMinMemory);
  sender.streams.on_stream_credit({kStdio, kMaxVarint});
  sender.streams.on_session_credit({kMaxVarint});
  std::uint64_t sent = 0;
  while (!sender.streams.write_room(kStdio).empty()) {
    sender.write(kStdio, 1);
    sender.streams.wrote(kStdio, std::min<std::size_t>(sender.streams.write_room(kStdio).size(), 1000));
    sent += sender.take_all();
    ASSERT_LT(sent, 2 * kMinMemory);
  }
  EXPECT_LE(sender.streams.buffered(), kMinMemory / 2 + 1001);
  sender.streams.covered({kStdio, 0, 100'000});
  EXPECT_EQ(sender.count_news(Kind::kWritable, kStdio), 1u);
}

TEST(Streams, AStreamIsForgottenWhenBothSidesAreDone) {
  Side side(Role::kServer);
  const std::size_t before = side.streams.count();
  ASSERT_FALSE(side.streams.on_open({kFirstClientStream, "x"}));
  ASSERT_FALSE(side.data(kFirstClientStream, 0, 5));
  ASSERT_FALSE(side.streams.on_fin({kFirstClientStream, 5}));
  side.write(kFirstClientStream, 7);
  side.streams.finish(kFirstClientStream);
  side.take_all();
  side.read_all(kFirstClientStream);
  side.streams.release(kFirstClientStream);
  EXPECT_EQ(side.streams.count(), before + 1);
  side.streams.on_complete({kFirstClientStream});
  EXPECT_EQ(side.streams.count(), before);
  // Late duplicates of its frames are not the peer's fault, and make no stream.
  EXPECT_FALSE(side.data(kFirstClientStream, 0, 5));
  EXPECT_FALSE(side.streams.on_fin({kFirstClientStream, 5}));
  EXPECT_FALSE(side.streams.on_open({kFirstClientStream, "x"}));
  side.streams.on_stop({kFirstClientStream});
  side.streams.on_stream_credit({kFirstClientStream, 5});
  EXPECT_EQ(side.streams.count(), before);
}

TEST(Streams, ReleaseGivesUpWhatIsNotFinished) {
  Side side(Role::kServer);
  ASSERT_FALSE(side.streams.on_open({kFirstClientStream, "x"}));
  ASSERT_FALSE(side.data(kFirstClientStream, 0, 5));
  side.streams.release(kFirstClientStream);
  EXPECT_EQ(side.waiting<StopFrame>().size(), 1u);
  EXPECT_EQ(side.waiting<ResetFrame>().size(), 1u);
  EXPECT_FALSE(side.streams.on_reset({kFirstClientStream, 5}));
  EXPECT_EQ(side.streams.count(), 2u);
}

TEST(Streams, CompleteBeforeAllWasSentIsIgnored) {
  Side side(Role::kClient);
  side.write(kStdio, 10);
  side.streams.finish(kStdio);
  side.streams.on_complete({kStdio});
  EXPECT_EQ(side.take_all(), 10u);
  side.streams.on_complete({kStdio});
  EXPECT_EQ(side.streams.buffered(), 0u);
}

TEST(Streams, NumbersThatCannotBe) {
  Side side(Role::kServer);
  EXPECT_TRUE(side.data(kFirstServerStream, 0, 1));
  EXPECT_TRUE(side.streams.on_open({kFirstServerStream, "x"}));
  EXPECT_TRUE(side.data(kMaxVarint - 1, 0, 1));
  EXPECT_TRUE(side.streams.on_fin({4 * Streams::kMaxStreams, 1}));
  EXPECT_EQ(side.streams.count(), 2u);
  EXPECT_FALSE(side.data(2 * 100, 0, 1));
  EXPECT_EQ(side.streams.count(), 102u);
}

TEST(Streams, StreamsTakeTurns) {
  Side side(Role::kClient);
  const StreamId one = side.streams.open("x"), two = side.streams.open("x");
  side.write(one, 100'000);
  side.write(two, 100'000);
  std::map<StreamId, std::uint64_t> sent;
  for (int i = 0; i < 80; ++i) {
    const auto piece = side.streams.take(1000);
    sent[piece->stream] += piece->piece.size;
  }
  EXPECT_GT(sent[one], 30'000u);
  EXPECT_GT(sent[two], 30'000u);
}

TEST(Streams, RequeuedBytesOfAForgottenStreamLeaveNothingToDo) {
  Side side(Role::kClient);
  side.write(kStdio, 1000);
  side.take_all();
  side.streams.requeue({kStdio, 0, 900});
  EXPECT_TRUE(side.streams.has_data());
  side.streams.reset(kStdio);
  EXPECT_EQ(side.take_all(), 0u);
  EXPECT_FALSE(side.streams.has_data());
}

}  // namespace
}  // namespace mcdtp
