// Any bytes as the frames of a packet: what reads writes back, and reads again as the same.
#include <array>
#include <vector>

#include "common/core/check.h"
#include "common/core/wire.h"

namespace {

using namespace mcdtp;

template <typename T>
void check_again(Bytes written, const T& frame) {
  Reader reader(written);
  const auto again = read_frame(reader);
  CHECK(again && !reader.failed() && reader.remaining() == 0);
  CHECK(std::get<T>(*again) == frame);
}

struct WriteBack {
  MutableBytes room;

  void operator()(const PingFrame& frame) const {
    Writer out(room);
    write_ping(out);
    check_again(room.first(out.size()), frame);
  }
  void operator()(const DataFrame& frame) const {
    Writer out(room);
    const MutableBytes data = write_data(out, frame.stream, frame.offset, frame.data.size());
    std::copy(frame.data.begin(), frame.data.end(), data.begin());
    CHECK(out.size() == data_overhead(frame.stream, frame.offset, data.size()) + data.size());
    Reader reader(room.first(out.size()));
    const auto again = read_frame(reader);
    CHECK(again && reader.remaining() == 0);
    const auto& read = std::get<DataFrame>(*again);
    CHECK(read.stream == frame.stream && read.offset == frame.offset);
    CHECK(std::equal(read.data.begin(), read.data.end(), frame.data.begin(), frame.data.end()));
  }
  void operator()(const ReportFrame& frame) const {
    Writer out(room);
    write_report(out, frame, out.remaining());
    check_again(room.first(out.size()), frame);
    // In little room the newest ranges stay, the last of them perhaps cut short.
    std::array<std::uint8_t, kMinReportSize> little{};
    Writer small(little);
    const PacketNumber lowest = write_report(small, frame, kMinReportSize);
    Reader reader(Bytes(little).first(small.size()));
    const auto again = read_frame(reader);
    CHECK(again && reader.remaining() == 0);
    auto ranges = std::get<ReportFrame>(*again).ranges;
    CHECK(ranges.back().begin == lowest && ranges.size() <= frame.ranges.size());
    ranges.back().begin = frame.ranges[ranges.size() - 1].begin;
    CHECK(lowest >= ranges.back().begin);
    CHECK(std::equal(ranges.begin(), ranges.end(), frame.ranges.begin()));
  }
  void operator()(const FloorFrame& frame) const {
    Writer out(room);
    write_floor(out, frame);
    CHECK(out.size() <= kMaxFloorSize);
    check_again(room.first(out.size()), frame);
  }
  template <typename T>
  void operator()(const T& frame) const {
    Writer out(room);
    write_frame(out, ControlFrame(frame));
    CHECK(out.size() == encoded_size(ControlFrame(frame)));
    check_again(room.first(out.size()), frame);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Reader reader(Bytes(data, size));
  std::vector<std::uint8_t> room(size + 16 * kMaxReportRanges + 128);
  while (const auto frame = read_frame(reader)) std::visit(WriteBack{room}, *frame);
  CHECK(reader.failed() || reader.remaining() == 0);
  return 0;
}
