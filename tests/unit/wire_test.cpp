#include "common/core/wire.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

using namespace std::chrono_literals;

std::string written(const ControlFrame& frame) {
  std::vector<std::uint8_t> room(2048);
  Writer out(room);
  write_frame(out, frame);
  EXPECT_EQ(out.size(), encoded_size(frame));
  return to_hex(Bytes(room).first(out.size()));
}

std::string written_report(const ReportFrame& frame, std::size_t room_size = 8192) {
  std::vector<std::uint8_t> room(room_size);
  Writer out(room);
  write_report(out, frame, room_size);
  return to_hex(Bytes(room).first(out.size()));
}

std::string written_floor(const FloorFrame& frame) {
  std::array<std::uint8_t, kMaxFloorSize> room;
  Writer out(room);
  write_floor(out, frame);
  return to_hex(Bytes(room).first(out.size()));
}

std::string written_data(StreamId stream, std::uint64_t offset, std::string_view data) {
  std::vector<std::uint8_t> room(data_overhead(stream, offset, data.size()) + data.size());
  Writer out(room);
  const MutableBytes place = write_data(out, stream, offset, data.size());
  std::copy(data.begin(), data.end(), place.begin());
  EXPECT_EQ(out.remaining(), 0u);
  return to_hex(room);
}

ReportFrame a_report() { return {3, 7, 250us, 123'456, 100, 2, 1, {{90, 101}, {80, 85}, {0, 10}}}; }

// What a bitmap says in fewer bytes: 100, then every second number from 96 down to 86.
ReportFrame a_holed_report() {
  ReportFrame report = a_report();
  report.ranges = {{100, 101}};
  for (const PacketNumber n : {96, 94, 92, 90, 88, 86}) report.ranges.push_back({n, n + 1});
  return report;
}

struct Example {
  const char* name;
  std::string bytes;  // in hexadecimal, as they must be for ever
  std::string ours;
  std::optional<Frame> frame;  // unset: DATA, compared apart
};

std::vector<Example> examples() {
  const auto control = [](const char* name, const char* bytes, const auto& frame) {
    return Example{name, bytes, written(frame), Frame(frame)};
  };
  return {
      {"ping", "01", "01", PingFrame{}},
      {"data", "0202406403616263", written_data(2, 100, "abc"), std::nullopt},
      control("fin", "03007d00", FinFrame{0, 0x3d00}),
      control("reset", "04010500", ResetFrame{1, 5}),
      control("stop", "0503", StopFrame{3}),
      control("stream credit", "060280100000", StreamCreditFrame{2, 1 << 20}),
      control("session credit", "0780400000", SessionCreditFrame{4 << 20}),
      {"report",
       "080307"
       "40fa"
       "8001e240"
       "4064"
       "02"
       "01"
       "4064"
       "03"
       "0a"
       "0404"
       "4045"
       "09",
       "", a_report()},
      {"report with a bitmap",
       "080307"
       "40fa"
       "8001e240"
       "4064"
       "02"
       "01"
       "4064"
       "00"
       "03"
       "025505",
       written_report(a_holed_report()), a_holed_report()},
      {"floor",
       "0940ff"
       "05"
       "61a8",
       written_floor({255, 5, 8616us}), FloorFrame{255, 5, 8616us}},
      control("complete", "0a04", CompleteFrame{4}),
      control("open", "0b02016c", OpenFrame{2, "l"}),
      control("opened", "0f02", OpenedFrame{2}),
      control("exchange", "0c0402ea60000090000000", ExchangeFrame{4, {60000, 0}, 0x10000000}),
      control("set", "0d0190000000", SetFrame{1, 0x10000000}),
      control("exit", "0eff", ExitFrame{255}),
      control("reset of what could not be", "04020004", ResetFrame{2, 0, ResetReason::kUnknownName}),
      control("reset after the last byte", "04020906", ResetFrame{2, 9, ResetReason::kBrokenOff}),
      control("reset for want of an answer", "04020008", ResetFrame{2, 0, ResetReason::kNoAnswer}),
      control("reset for want of a name server", "04020009", ResetFrame{2, 0, ResetReason::kNoNameServer}),
  };
}

std::optional<Frame> read(const std::vector<std::uint8_t>& bytes, bool& failed) {
  Reader reader(bytes);
  auto frame = read_frame(reader);
  failed = reader.failed();
  return frame;
}

TEST(Wire, KnownBytesOfEachFrame) {
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.name);
    if (!example.ours.empty()) {
      EXPECT_EQ(example.ours, example.bytes);
    }
    bool failed = true;
    const auto bytes = *from_hex(example.bytes);
    const auto frame = read(bytes, failed);
    ASSERT_TRUE(frame && !failed);
    if (!example.frame) continue;
    ASSERT_EQ(frame->index(), example.frame->index());
    std::visit(
        [&](const auto& expected) {
          using T = std::decay_t<decltype(expected)>;
          if constexpr (!std::is_same_v<T, DataFrame>) {
            EXPECT_TRUE(std::get<T>(*frame) == expected);
          }
        },
        *example.frame);
  }
}

TEST(Wire, ResetForAReasonNotKnown) {
  bool failed = true;
  const auto frame = read(*from_hex("04020040ff"), failed);
  ASSERT_TRUE(frame && !failed);
  EXPECT_EQ(std::get<ResetFrame>(*frame), (ResetFrame{2, 0, ResetReason::kGivenUp}));
}

TEST(Wire, EveryTruncationFails) {
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.name);
    auto bytes = *from_hex(example.bytes);
    for (bytes.pop_back(); !bytes.empty(); bytes.pop_back()) {
      bool failed = false;
      EXPECT_FALSE(read(bytes, failed)) << bytes.size();
      EXPECT_TRUE(failed) << bytes.size();
    }
  }
}

TEST(Wire, DataFrameComesBack) {
  const auto bytes = *from_hex(written_data(9, kMaxStreamOffset - 3, "abc"));
  bool failed = true;
  const auto frame = read(bytes, failed);
  ASSERT_TRUE(frame);
  const auto& data = std::get<DataFrame>(*frame);
  EXPECT_EQ(data.stream, 9u);
  EXPECT_EQ(data.offset, kMaxStreamOffset - 3);
  EXPECT_EQ(std::string(data.data.begin(), data.data.end()), "abc");
}

TEST(Wire, PaddingIsPassedOver) {
  bool failed = true;
  EXPECT_FALSE(read({0, 0, 0}, failed));
  EXPECT_FALSE(failed);
  EXPECT_TRUE(std::holds_alternative<PingFrame>(*read({0, 0, 1}, failed)));
}

TEST(Wire, RefusesWhatIsOutOfBounds) {
  const char* wrong[] = {
      "0f",                        // no such frame
      "ff",                        //
      "020000",                    // no bytes of data
      "0200ffffffffffffffff0161",  // beyond the largest offset
      "0b02"
      "4401",      // a target of 1025 bytes
      "0c000000",  // no channels
      "0c404100"
      "00",      // 65 channels
      "0d0000",  //
      "0880010000"
      "00"
      "00"
      "00",  // a report that ends early
      "080001000000000005"
      "00",  // of no ranges
      "080001000000000005"
      "01"
      "06",  // of numbers below zero
      "080001000000000005"
      "02"
      "00"
      "0500",
      "080001000000000005"
      "4801",  // of 2049 ranges
      "080001000000000005"
      "000000",  // a bitmap of no bytes
      "080001000000000005"
      "00000102",  // ... that does not begin with what came
      "080001000000000005"
      "0000020100",  // ... that ends with nothing
      "080001000000000005"
      "00000121",  // ... of numbers below zero
      "080001000000000005"
      "00050101",  //
      "080001000000000005"
      "00ffffffffffffffff0101",  //
      "080001000000000000"
      "00000101",                // ... below the number 0
      "09800100000000",          // channel 65536
      "090000ffffffffffffffff",  // an interval of ages: no overflow either
      "080001ffffffffffffffff000000000501"
      "00",
      "08000100c000000040000000000000050100",  // a clock that shows more than it can
  };
  for (const char* text : wrong) {
    const auto bytes = *from_hex(text);
    bool failed = false;
    EXPECT_FALSE(read(bytes, failed)) << text;
    EXPECT_TRUE(failed) << text;
  }
}

TEST(Wire, ReportFitsItsLeastRoomAtTheLargestValues) {
  const ReportFrame report{0xffff,     kMaxVarint, 3600s,      kReportClock - 1,
                           kMaxVarint, kMaxVarint, kMaxVarint, {{1, kMaxVarint}}};
  const auto bytes = *from_hex(written_report(report, kMinReportSize));
  bool failed = true;
  EXPECT_TRUE(std::get<ReportFrame>(*read(bytes, failed)) == report);
  EXPECT_EQ(to_hex(bytes), written_report(report));
}

TEST(Wire, ReportExampleInBothDirections) { EXPECT_EQ(written_report(a_report()), examples()[7].bytes); }

TEST(Wire, DurationsAreBounded) {
  EXPECT_EQ(written_floor({0, 0, -1s}), "09000000");
  bool failed = true;
  const auto bytes = *from_hex(written_floor({0, 0, 10000h}));
  EXPECT_EQ(std::get<FloorFrame>(*read(bytes, failed)).report_interval, 1h);
}

}  // namespace
}  // namespace mcdtp
