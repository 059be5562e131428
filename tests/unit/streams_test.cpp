#include "common/core/streams.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

using Kind = StreamNews::Kind;

// One side's streams, with what they want to say and to tell.
struct Side {
  static constexpr Duration kRtt = milliseconds(10);

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
  std::vector<T> waiting() const {
    std::vector<T> found;
    ControlQueue rest = control;
    for (; !rest.empty(); rest.pop()) {
      if (const T* frame = std::get_if<T>(&rest.front())) found.push_back(*frame);
    }
    return found;
  }
  // One packet a round trip: too few for a window to grow by.
  std::optional<std::string> data(StreamId id, std::uint64_t offset, std::size_t size) {
    const std::vector<std::uint8_t> bytes(size, 'x');
    now += kRtt;
    return streams.on_data(now, {id, offset, bytes}, kRtt);
  }
  // Sends all that may be sent, in packets; returns how much.
  std::uint64_t take_all() {
    std::uint64_t total = 0;
    while (const auto piece = streams.take(1000)) total += piece->piece.size;
    return total;
  }

  ControlQueue control;
  Time now = Time{} + seconds(1);
  std::deque<StreamNews> news;
  Streams streams;
};

TEST(Streams, CreditGoesOnAfterTheEndIsKnown) {
  Side receiver(Role::kServer);
  // FIN takes no credit: it comes before the bytes that lead there may be sent.
  EXPECT_FALSE(receiver.streams.on_fin({kStdio, 3 * kInitialStdioWindow}));
  EXPECT_FALSE(receiver.data(kStdio, 0, kInitialStdioWindow));
  EXPECT_EQ(receiver.read_all(kStdio), kInitialStdioWindow);
  const auto credit = receiver.waiting<StreamCreditFrame>();
  ASSERT_FALSE(credit.empty());
  EXPECT_GE(credit.back().limit, 3 * kInitialStdioWindow / 2);
  // Lost, it is said again while there is more to come.
  EXPECT_TRUE(receiver.streams.renewed(credit.back()));
}

TEST(Streams, NoCreditOnceAllHasBeenSent) {
  Side receiver(Role::kServer);
  EXPECT_FALSE(receiver.streams.on_fin({kStdio, kInitialStdioWindow}));
  EXPECT_FALSE(receiver.data(kStdio, 0, kInitialStdioWindow));
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
  taker.streams.on_stream_credit({kFirstClientStream, 3 * kInitialStdioWindow});
  taker.streams.on_session_credit({100 * kInitialStdioWindow});
  EXPECT_FALSE(taker.streams.on_open({kFirstClientStream, "x"}));
  std::uint64_t sent = 0;
  for (int i = 0; i < 6; ++i) {
    taker.write(kFirstClientStream, Streams::kWriteAhead);
    sent += taker.take_all();
  }
  EXPECT_EQ(sent, 3 * kInitialStdioWindow);
  taker.write(kFirstClientStream, 1000);
  EXPECT_EQ(taker.take_all(), 0u);
}

TEST(Streams, StreamsMadeLaterBeginSmallAndGrow) {
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
  const std::uint64_t first = MemoryShares(kUntoldMemory).first_window();
  ASSERT_EQ(receiver.waiting<StreamCreditFrame>().size(), 1u);
  EXPECT_EQ(receiver.waiting<StreamCreditFrame>()[0].limit, first);
  ASSERT_FALSE(receiver.data(kFirstClientStream, 0, first));
  receiver.read_all(kFirstClientStream);
  EXPECT_GE(receiver.waiting<StreamCreditFrame>().at(0).limit, 8 * first);
}

// What the peer may still send of a stream.
std::uint64_t granted(Side& side, StreamId id, std::uint64_t sent) {
  std::uint64_t limit = id <= kStderr ? kInitialStdioWindow : kInitialStreamWindow;
  for (const auto& credit : side.waiting<StreamCreditFrame>())
    limit = credit.stream == id ? credit.limit : limit;
  return limit - sent;
}

// A peer that sends all it may of one stream, half of its credit at a time.
struct Filler {
  // Until `most` more are sent or there is no credit; returns how many were sent.
  std::uint64_t fill(bool reading, std::uint64_t most) {
    const std::uint64_t before = sent;
    while (sent - before < most && granted(side, id, sent) > 0) {
      const std::uint64_t size = std::min((granted(side, id, sent) + 1) / 2, most - (sent - before));
      const std::vector<std::uint8_t> bytes(size, 'x');
      now += milliseconds(10);
      EXPECT_EQ(side.streams.on_data(now, {id, sent, bytes}, milliseconds(10)), std::nullopt);
      sent += size;
      if (reading) side.read_all(id);
    }
    return sent - before;
  }

  Side& side;
  StreamId id;
  Time& now;
  std::uint64_t sent = 0;
};

TEST(Streams, PausedReadersNeverStopAnother) {
  for (const std::uint64_t memory : {kMinMemory, std::uint64_t{64} << 20, kUntoldMemory}) {
    Side side(Role::kServer);
    side.streams.set_memory(memory);
    Time now = Time{} + seconds(1);
    const StreamId many = std::min<StreamId>(MemoryShares(memory).backed(), 200);
    for (StreamId id = kFirstClientStream; id < kFirstClientStream + 2 * many; id += 2) {
      ASSERT_FALSE(side.streams.on_open({id, "x"}));
      Filler peer{side, id, now};
      EXPECT_EQ(peer.fill(true, 1'000'000), 1'000'000u) << id << " memory " << memory;
      EXPECT_GE(peer.fill(false, memory), MemoryShares(memory).reserve() / 2) << id;
      EXPECT_LE(side.streams.memory_in_use(), memory);
    }
  }
}

TEST(Streams, OneAloneHasMostOfTheMemory) {
  for (const std::uint64_t memory : {std::uint64_t{64} << 20, kUntoldMemory}) {
    Side side(Role::kServer);
    side.streams.set_memory(memory);
    Time now = Time{} + seconds(1);
    Filler peer{side, kStdio, now};
    // Out of order: the first byte is missing, so that no reader is to blame.
    peer.sent = 1;
    // Credit grows in steps of a quarter: the last may not fit.
    EXPECT_GE(peer.fill(false, memory), memory * 55 / 100);
    EXPECT_LE(side.streams.memory_in_use(), memory);
  }
}

TEST(Streams, ResetAfterFinishMayArriveInAnyOrder) {
  for (const bool fin_first : {true, false}) {
    Side sender(Role::kClient), receiver(Role::kServer);
    sender.write(kStdio, 3 * kInitialStdioWindow / 8);
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

TEST(Streams, WhatIsBrokenOffIsReadToItsEnd) {
  Side sender(Role::kClient), receiver(Role::kServer);
  sender.write(kStdio, 500);
  sender.streams.break_off(kStdio);
  const ResetFrame end = sender.waiting<ResetFrame>().at(0);
  EXPECT_EQ(end, (ResetFrame{kStdio, 500, ResetReason::kBrokenOff}));
  EXPECT_FALSE(sender.streams.gave_up(kStdio));
  EXPECT_EQ(sender.take_all(), 500u);
  ASSERT_FALSE(receiver.streams.on_reset(end));
  EXPECT_FALSE(receiver.streams.all_received(kStdio));
  ASSERT_FALSE(receiver.data(kStdio, 0, 500));
  EXPECT_TRUE(receiver.streams.all_received(kStdio));
  EXPECT_FALSE(receiver.streams.was_reset(kStdio));
  EXPECT_TRUE(receiver.streams.was_broken_off(kStdio));
  EXPECT_EQ(receiver.read_all(kStdio), 500u);
  EXPECT_TRUE(receiver.streams.read_to_end(kStdio));
  sender.streams.on_complete(receiver.waiting<CompleteFrame>().at(0));
  EXPECT_EQ(sender.count_news(Kind::kDelivered, kStdio), 1u);
}

TEST(Streams, DeliveredIsNewsOnceThePeerHasAll) {
  Side side(Role::kClient);
  const StreamId id = side.streams.open("x");
  side.write(id, 10);
  side.streams.finish(id);
  EXPECT_EQ(side.take_all(), 10u);
  EXPECT_FALSE(side.streams.delivered());
  side.streams.release(id);
  side.streams.on_complete({id});
  EXPECT_TRUE(side.streams.delivered());
  EXPECT_EQ(side.count_news(Kind::kDelivered, id), 1u);
  side.streams.on_complete({id});
  EXPECT_EQ(side.count_news(Kind::kDelivered, id), 1u);
  const StreamId other = side.streams.open("x");
  side.write(other, 10);
  EXPECT_FALSE(side.streams.delivered());
  side.streams.on_stop({other});
  EXPECT_TRUE(side.streams.delivered());
  EXPECT_EQ(side.count_news(Kind::kStopped, other), 1u);
}

TEST(Streams, DiscardedAndResetBytesGiveTheirSessionCreditBack) {
  Side receiver(Role::kServer);
  std::uint64_t sum = 0;
  for (StreamId id = kFirstClientStream; id < 400; id += 2) {
    ASSERT_FALSE(receiver.streams.on_open({id, "x"}));
    ASSERT_FALSE(receiver.data(id, 0, 50'000)) << id;
    if (id % 4 == 0) {
      receiver.streams.stop(id);
      ASSERT_FALSE(receiver.data(id, 50'000, 10'000)) << id;
    }
    ASSERT_FALSE(receiver.streams.on_reset({id, 65'000})) << id;
    sum += 65'000;
  }
  EXPECT_GT(sum, 2 * kInitialSessionWindow);
  EXPECT_GT(receiver.waiting<SessionCreditFrame>().at(0).limit, sum);
}

TEST(Streams, SessionCreditIsAHardBound) {
  constexpr StreamId kEnd = 2 + 2 * kInitialSessionWindow / kInitialStreamWindow;
  Side receiver(Role::kServer);
  for (StreamId id = 2; id < kEnd; id += 2) ASSERT_FALSE(receiver.data(id, 0, kInitialStreamWindow));
  EXPECT_EQ(receiver.data(kEnd, 0, 1), "the session went beyond its credit");
  Side other(Role::kServer);
  for (StreamId id = 2; id < kEnd; id += 2) ASSERT_FALSE(other.data(id, 0, kInitialStreamWindow));
  EXPECT_EQ(other.streams.on_reset({kEnd, 1}), "the session went beyond its credit");
}

TEST(Streams, HolesAreBoundedOverAllStreams) {
  const std::size_t most = MemoryShares(kMinMemory).max_holes();
  Side side(Role::kServer);
  side.streams.set_memory(kMinMemory);
  ASSERT_FALSE(side.streams.on_open({kFirstClientStream, "x"}));
  const std::size_t of_one = kInitialStreamWindow / 2, of_other = most - of_one;
  for (std::size_t i = 0; i < of_one; ++i) ASSERT_FALSE(side.data(kFirstClientStream, 1 + 2 * i, 1));
  for (std::size_t i = 0; i < of_other; ++i) ASSERT_FALSE(side.data(kStdio, 1 + 2 * i, 1));
  EXPECT_EQ(side.data(kStdio, 1 + 2 * of_other, 1), "the session has too many holes");
  // One that is given up takes none any more.
  Side other(Role::kServer);
  other.streams.set_memory(kMinMemory);
  for (std::size_t i = 0; i < most; ++i) ASSERT_FALSE(other.data(kStdio, 1 + 2 * i, 1));
  ASSERT_FALSE(other.streams.on_reset({kStdio, 2 * most}));
  EXPECT_FALSE(other.data(kStderr, 1, 1));
}

// Packets of many streams' single bytes, each of which leaves a hole for each byte.
TEST(Streams, HolesOfManySmallWritesFitLittleMemory) {
  EXPECT_EQ(MemoryShares(kMinMemory).max_holes(), 131'072u);
  EXPECT_EQ(MemoryShares(1 << 30).max_holes(), 1u << 20);
  EXPECT_EQ(MemoryShares(std::uint64_t{4} << 30).max_holes(), 4u << 20);
}

// The more memory, the longer and faster the path on which one stream may lose packets.
TEST(Streams, OneStreamMayHaveAllTheHoles) {
  constexpr std::uint64_t kMemory = 16 << 20;
  const std::size_t most = MemoryShares(kMemory).max_holes();
  Side side(Role::kServer);
  side.streams.set_memory(kMemory);
  for (std::size_t i = 0; i < most; ++i) ASSERT_FALSE(side.data(kStdio, 1 + 2 * i, 1));
  EXPECT_FALSE(side.data(kStdio, 0, 1)) << "what closes a hole is taken";
  EXPECT_FALSE(side.data(kStdio, 1 + 2 * most, 1));
  EXPECT_EQ(side.data(kStdio, 3 + 2 * most, 1), "the session has too many holes");
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
  EXPECT_LE(sender.streams.memory_in_use(), kMinMemory - kInitialSessionWindow);
  sender.streams.covered({kStdio, 0, 100'000});
  EXPECT_EQ(sender.count_news(Kind::kWritable, kStdio), 1u);
}

// What a stream was given beyond its end is there for the others again, though nothing more is read of it, and whether
// the end or the last byte comes last.
TEST(Streams, CreditBeyondAnEndIsNobodys) {
  enum class End { kNone, kLast, kBeforeTheLastByte };
  const auto credit_beside_stdin = [](End end) {
    Side side(Role::kServer);
    side.streams.set_memory(kMinMemory);
    const auto receive = [&side](StreamId id, std::uint64_t from, std::uint64_t to) {
      const std::vector<std::uint8_t> bytes(1000, 'x');
      for (std::uint64_t at = from; at < to; at += bytes.size()) {
        ASSERT_FALSE(side.streams.on_data(side.now += microseconds(10), {id, at, bytes}, Side::kRtt)) << at;
        side.read_all(id);
      }
    };
    receive(kStdio, 0, 2'999'000);
    if (end == End::kBeforeTheLastByte) {
      EXPECT_FALSE(side.streams.on_fin({kStdio, 3'000'000}));
    }
    EXPECT_FALSE(side.data(kStdio, 2'999'000, 1000));
    if (end == End::kLast) {
      EXPECT_FALSE(side.streams.on_fin({kStdio, 3'000'000}));
    }
    EXPECT_FALSE(side.streams.on_open({kFirstClientStream, "x"}));
    receive(kFirstClientStream, 0, 300'000);
    std::uint64_t limit = 0;
    for (const auto& credit : side.waiting<StreamCreditFrame>())
      if (credit.stream == kFirstClientStream) limit = credit.limit;
    return limit;
  };
  EXPECT_GT(credit_beside_stdin(End::kLast), 2 * credit_beside_stdin(End::kNone));
  EXPECT_GT(credit_beside_stdin(End::kBeforeTheLastByte), 2 * credit_beside_stdin(End::kNone));
}

// Credit cannot be taken back: what is given before the memory is agreed on must leave room for those who write.
TEST(Streams, WriterHasRoomHoweverLittleIsAgreedOn) {
  Side side(Role::kClient);
  side.streams.wish_memory(256 << 20);
  for (int i = 0; i < 100; ++i) side.streams.open("x");
  side.streams.set_memory(kMinMemory);
  EXPECT_FALSE(side.streams.write_room(kStdio).empty());
}

// Readers that pause may have taken all that was given before: who comes then is not to wait for them.
TEST(Streams, TheSessionIsGivenMoreWhenMemoryIsAgreedOn) {
  Side side(Role::kServer);
  side.streams.wish_memory(256 << 20);
  for (StreamId id = kFirstClientStream; id < kFirstClientStream + 200; id += 2) {
    EXPECT_FALSE(side.streams.on_open({id, "x"}));
    EXPECT_FALSE(side.data(id, 0, kInitialStreamWindow));
  }
  const std::size_t before = side.waiting<SessionCreditFrame>().size();
  side.streams.set_memory(256 << 20);
  EXPECT_EQ(side.waiting<SessionCreditFrame>().size(), before + 1);
}

// Writers whose peer reports nothing, many of them: none is without room. One that holds something is woken when some
// of it has come, one that holds nothing when any lets go.
TEST(Streams, WritersShareTheMemory) {
  Side side(Role::kClient);
  side.streams.set_memory(kMinMemory);
  side.streams.on_session_credit({kMaxVarint});
  std::map<StreamId, std::uint64_t> written;
  for (int i = 0; i < 120; ++i) {
    const StreamId id = side.streams.open("x");
    side.streams.on_stream_credit({id, kMaxVarint});
    for (MutableBytes room = side.streams.write_room(id); !room.empty(); room = side.streams.write_room(id)) {
      side.streams.wrote(id, room.size());
      written[id] += room.size();
      side.take_all();
    }
    EXPECT_GE(written[id], BlockPool::kBlockSize) << i;
    EXPECT_LE(side.streams.memory_in_use(), kMinMemory - kInitialSessionWindow);
  }
  const StreamId first = written.begin()->first, last = written.rbegin()->first;
  EXPECT_GT(written[first], 1'000'000u);
  EXPECT_EQ(side.count_news(Kind::kWritable, last), 0u);
  side.streams.covered({last, 0, static_cast<std::uint32_t>(written[last])});
  EXPECT_EQ(side.count_news(Kind::kWritable, last), 1u);
  const StreamId hungry = side.streams.open("x");
  side.streams.set_memory(kMinMemory - 256 * 1024);
  EXPECT_TRUE(side.streams.write_room(hungry).empty());
  side.streams.covered({first, 0, static_cast<std::uint32_t>(written[first])});
  EXPECT_EQ(side.count_news(Kind::kWritable, hungry), 1u);
}

TEST(Streams, AWriterWithoutCreditHoldsLittleUntilSomeComes) {
  Side side(Role::kClient);
  const StreamId id = side.streams.open("x");
  side.write(id, kInitialStreamWindow);
  side.take_all();
  side.write(id, BlockPool::kBlockSize);
  EXPECT_TRUE(side.streams.write_room(id).empty());
  EXPECT_EQ(side.count_news(Kind::kWritable, id), 0u);
  side.streams.on_stream_credit({id, 3 * kInitialStreamWindow});
  EXPECT_EQ(side.count_news(Kind::kWritable, id), 1u);
  side.write(id, kInitialStreamWindow);
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
  EXPECT_TRUE(side.streams.on_fin({2 * 4097, 1}));
  EXPECT_EQ(side.streams.count(), 2u);
  EXPECT_FALSE(side.data(2 * 100, 0, 1));
  EXPECT_EQ(side.streams.count(), 102u);
}

TEST(Streams, OpenedIsToldOnceAndOnlyOfOurs) {
  Side opener(Role::kClient), taker(Role::kServer);
  const StreamId id = opener.streams.open("x");
  ASSERT_FALSE(taker.streams.on_open(opener.waiting<OpenFrame>().at(0)));
  taker.streams.reached(id);
  taker.streams.reached(id);
  ASSERT_EQ(taker.waiting<OpenedFrame>().size(), 1u);
  EXPECT_FALSE(opener.streams.on_opened({id}));
  EXPECT_FALSE(opener.streams.on_opened({id}));
  EXPECT_EQ(opener.count_news(Kind::kReached, id), 1u);
  EXPECT_TRUE(opener.streams.on_opened({kFirstServerStream}));
  EXPECT_TRUE(opener.streams.on_opened({kStdio}));
  EXPECT_TRUE(opener.streams.on_opened({kStderr}));
  EXPECT_TRUE(opener.streams.on_opened({id + 2}));
}

TEST(Streams, RefusedForAReasonAndForgottenByBoth) {
  Side opener(Role::kClient), taker(Role::kServer);
  const StreamId id = opener.streams.open("x");
  opener.write(id, 10);
  ASSERT_FALSE(taker.streams.on_open({id, "x"}));
  ASSERT_FALSE(taker.data(id, 0, 10));
  opener.take_all();
  taker.streams.refuse(id, ResetReason::kUnknownName);
  const ResetFrame reset = taker.waiting<ResetFrame>().at(0);
  EXPECT_EQ(reset, (ResetFrame{id, 0, ResetReason::kUnknownName}));
  ASSERT_FALSE(opener.streams.on_reset(reset));
  ASSERT_TRUE(opener.streams.was_reset(id));
  EXPECT_EQ(opener.streams.reset_reason(id), ResetReason::kUnknownName);
  opener.streams.on_stop(taker.waiting<StopFrame>().at(0));
  EXPECT_EQ(opener.waiting<ResetFrame>().at(0), (ResetFrame{id, 10}));
  ASSERT_FALSE(taker.streams.on_reset(opener.waiting<ResetFrame>().at(0)));
  opener.streams.release(id);
  EXPECT_EQ(opener.streams.count(), 2u);
  EXPECT_EQ(taker.streams.count(), 2u);
}

TEST(Streams, OneTooManyIsRefusedAndGivesItsCreditBack) {
  Side side(Role::kServer);
  const std::uint64_t most = MemoryShares(kMinMemory).max_streams();
  side.streams.set_memory(kMinMemory);
  const StreamId last = kFirstClientStream + 2 * (most - 3);
  ASSERT_FALSE(side.streams.on_open({last, "x"}));
  EXPECT_EQ(side.streams.count(), most);
  EXPECT_TRUE(side.waiting<ResetFrame>().empty());
  // Far more than fit at once, each with bytes: the session goes on, and its credit with it.
  for (StreamId id = last + 2; id < last + 2000; id += 2) {
    ASSERT_FALSE(side.data(id, 0, 16'000));
    ASSERT_FALSE(side.streams.on_open({id, "x"}));
    ASSERT_FALSE(side.streams.on_fin({id, 16'000}));
    ASSERT_FALSE(side.streams.on_reset({id, 16'000}));
    ASSERT_FALSE(side.streams.on_reset({id, 16'000}));
  }
  EXPECT_EQ(side.streams.count(), most);
  EXPECT_EQ(side.count_news(Kind::kOpened, last + 2), 0u);
  const auto resets = side.waiting<ResetFrame>();
  ASSERT_EQ(resets.size(), 999u);
  EXPECT_EQ(resets[0], (ResetFrame{last + 2, 0, ResetReason::kTooMany}));
  EXPECT_EQ(side.waiting<StopFrame>().size(), 999u);
  ASSERT_EQ(side.waiting<SessionCreditFrame>().size(), 1u);
  EXPECT_GT(side.waiting<SessionCreditFrame>()[0].limit, 999u * 16'000);
}

// Who opened it counts it no more: it has said its last, and knows by COMPLETE that we have it, and it has our last.
TEST(Streams, OneThatThePeerMayHaveForgottenTakesNoRoom) {
  Side side(Role::kServer);
  const std::uint64_t most = MemoryShares(kMinMemory).max_streams();
  side.streams.set_memory(kMinMemory);
  StreamId last = kFirstClientStream + 2 * (most - 3);
  ASSERT_FALSE(side.streams.on_open({last, "x"}));
  ASSERT_EQ(side.streams.count(), most);
  // None of these is read here, and there is memory for all.
  for (StreamId id = kFirstClientStream; id < kFirstClientStream + 2 * 10; id += 2) {
    ASSERT_FALSE(side.data(id, 0, 100));
    ASSERT_FALSE(side.streams.on_fin({id, 100}));
    side.streams.finish(id);
    ASSERT_FALSE(side.streams.on_open({last += 2, "x"}));
    EXPECT_EQ(side.count_news(Kind::kOpened, last), 1u);
  }
  EXPECT_TRUE(side.waiting<ResetFrame>().empty());
  ASSERT_FALSE(side.streams.on_open({last += 2, "x"}));
  EXPECT_EQ(side.waiting<ResetFrame>().at(0), (ResetFrame{last, 0, ResetReason::kTooMany}));
}

// A server under kMinMemory, with as many streams as there may be, all of which may be over, unread, at the edge of a block.
struct Unread {
  Unread() {
    side.streams.set_memory(kMinMemory);
    first = side.streams.open("x");
    second = side.streams.open("x");
    while (side.streams.count() < shares.max_streams()) EXPECT_TRUE(add());
  }
  // False: it is refused.
  bool add() {
    const StreamId id = next;
    next += 2;
    EXPECT_FALSE(side.streams.on_open({id, "x"}));
    EXPECT_FALSE(side.data(id, 0, BlockPool::kBlockSize + 1));
    side.streams.consume(id, BlockPool::kBlockSize - 1);
    EXPECT_FALSE(side.streams.on_fin({id, BlockPool::kBlockSize + 1}));
    side.streams.finish(id);
    return side.count_news(Kind::kOpened, id) == 1;
  }
  std::size_t add_all() {
    std::size_t added = 0;
    while (added <= shares.max_streams() && add()) ++added;
    return added;
  }
  // The stream's writer holds all that it may.
  void write_all(StreamId id) {
    side.streams.on_stream_credit({id, kMaxVarint});
    side.streams.on_session_credit({kMaxVarint});
    for (MutableBytes room; !(room = side.streams.write_room(id)).empty(); side.take_all())
      side.streams.wrote(id, room.size());
  }
  // Memory in use, and what the peer may still send.
  std::uint64_t promised() const {
    std::uint64_t limit = kInitialSessionWindow;
    for (const auto& credit : side.waiting<SessionCreditFrame>()) limit = std::max(limit, credit.limit);
    const std::uint64_t sent = (next - kFirstClientStream) / 2 * (BlockPool::kBlockSize + 1);
    return side.streams.memory_in_use() + limit - sent;
  }

  Side side{Role::kServer};
  MemoryShares shares{kMinMemory};
  StreamId next = kFirstClientStream;
  StreamId first, second;  // ours
};

TEST(Streams, ThoseThatMayBeOverTakeMemory) {
  Unread idle;
  EXPECT_EQ(idle.add_all(), idle.shares.max_streams());
  idle.write_all(kStdio);
  Unread busy;
  busy.write_all(kStdio);
  EXPECT_LT(idle.side.streams.buffered(), busy.side.streams.buffered()) << "a writer has what these leave";
  const std::size_t added = busy.add_all();
  EXPECT_GT(added, 10u) << "a block for each stream is left to others";
  EXPECT_LT(added, busy.shares.max_streams());
  const std::uint64_t bound = kMinMemory - 2 * BlockPool::kMaxSpares * BlockPool::kBlockSize;
  EXPECT_LE(idle.promised(), bound);
  EXPECT_LE(busy.promised(), bound);
}

// Room that such a stream leaves is told to writers.
TEST(Streams, OneThatIsOverLetsAWriterGoOn) {
  Unread unread;
  unread.write_all(kStdio);
  unread.add_all();
  unread.write_all(unread.first);
  ASSERT_TRUE(unread.side.streams.write_room(unread.second).empty());
  for (StreamId id = kFirstClientStream; id < unread.next; id += 2) {
    unread.side.streams.on_complete({id});
    unread.side.read_all(id);
    unread.side.streams.release(id);
    if (unread.side.count_news(Kind::kWritable, unread.second) == 0) continue;
    EXPECT_FALSE(unread.side.streams.write_room(unread.second).empty());
    return;
  }
  FAIL() << "the writer was not told";
}

TEST(Streams, StreamsTakeTurns) {
  Side side(Role::kClient);
  const StreamId one = side.streams.open("x"), two = side.streams.open("x");
  side.streams.on_stream_credit({one, 200'000});
  side.streams.on_stream_credit({two, 200'000});
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

// Who sends little is not behind who sends much, nor behind what that one has lost.
TEST(Streams, ALittleGoesBeforeMuch) {
  Side side(Role::kClient);
  const StreamId small = side.streams.open("x");
  side.write(kStdio, 400'000);
  for (int i = 0; i < 100; ++i) side.streams.take(1000);
  side.streams.requeue({kStdio, 0, 50'000});
  side.streams.take(1000);
  side.write(small, 100);
  const auto first = side.streams.take(1000), second = side.streams.take(1000);
  EXPECT_TRUE(first->stream == small || second->stream == small);
}

TEST(Streams, WhatALittleStreamLostGoesFirst) {
  Side side(Role::kClient);
  const StreamId small = side.streams.open("x");
  side.write(small, 100);
  side.write(kStdio, 400'000);
  for (int i = 0; i < 100; ++i) side.streams.take(1000);
  side.streams.requeue({kStdio, 0, 50'000});
  side.streams.requeue({small, 0, 100});
  EXPECT_EQ(side.streams.take(1000)->stream, small);
  EXPECT_EQ(side.streams.take(1000)->stream, kStdio);
}

// A drop each time the stream has run empty: it is new each time, and yet the other one goes on.
TEST(Streams, DropsWithoutEndStarveNobody) {
  Side side(Role::kClient);
  const StreamId drops = side.streams.open("x");
  side.streams.on_stream_credit({drops, 10'000'000});
  side.write(kStdio, 400'000);
  std::uint64_t others = 0;
  for (int i = 0; i < 200; ++i) {
    side.write(drops, 1000);
    if (side.streams.take(1000)->stream == kStdio) ++others;
  }
  EXPECT_GE(others, 80u);
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
