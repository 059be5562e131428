#include "common/core/wire.h"

#include <algorithm>

#include "common/core/check.h"

namespace mcdtp {
namespace {

constexpr std::uint64_t kMaxChannelId = std::numeric_limits<ChannelId>::max();
constexpr std::uint64_t kMaxMicroseconds = std::uint64_t{3600} * 1'000'000;

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

// A value out of bounds fails the reader and never gets further.
std::uint64_t bounded(Reader& in, std::uint64_t low, std::uint64_t high) {
  const std::uint64_t value = in.varint();
  if (value >= low && value <= high) return value;
  in.fail();
  return low;
}

Duration read_duration(Reader& in) {
  return microseconds(static_cast<std::int64_t>(bounded(in, 0, kMaxMicroseconds)));
}

void write_duration(Writer& out, Duration d) {
  const auto count = std::chrono::duration_cast<microseconds>(d).count();
  out.varint(std::min<std::uint64_t>(kMaxMicroseconds,
                                     static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0))));
}

DataFrame read_data(Reader& in) {
  DataFrame frame;
  frame.stream = in.varint();
  frame.offset = in.varint();
  frame.data = in.block(in.remaining());
  if (frame.data.empty() || frame.offset > kMaxStreamOffset - frame.data.size()) in.fail();
  return frame;
}

ReportFrame read_report(Reader& in) {
  ReportFrame frame;
  frame.channel = static_cast<ChannelId>(bounded(in, 0, kMaxChannelId));
  frame.sequence = in.varint();
  frame.delay = read_duration(in);
  frame.arrived = bounded(in, 0, kReportClock - 1);
  frame.received = in.varint();
  frame.duplicates = in.varint();
  frame.kernel_drops = in.varint();
  const PacketNumber largest = in.varint();
  read_ranges(in, largest, frame.ranges);
  return frame;
}

FloorFrame read_floor(Reader& in) {
  FloorFrame frame;
  frame.channel = static_cast<ChannelId>(bounded(in, 0, kMaxChannelId));
  frame.floor = in.varint();
  frame.report_interval = read_duration(in);
  return frame;
}

ExchangeFrame read_exchange(Reader& in) {
  ExchangeFrame frame;
  frame.channels = bounded(in, 1, kMaxDatagramChannels);
  const std::uint64_t ports = bounded(in, 0, kMaxDatagramChannels);
  for (std::uint64_t i = 0; i < ports && !in.failed(); ++i) frame.ports.push_back(in.u16());
  frame.memory = in.varint();
  return frame;
}

ResetFrame read_reset(Reader& in) {
  ResetFrame frame;
  frame.stream = in.varint();
  frame.final_size = in.varint();
  const std::uint64_t reason = in.varint();
  if (reason <= static_cast<std::uint64_t>(ResetReason::kNoNameServer))
    frame.reason = static_cast<ResetReason>(reason);
  return frame;
}

OpenFrame read_open(Reader& in) {
  OpenFrame frame;
  frame.stream = in.varint();
  const Bytes target = in.block(kMaxTargetSize);
  frame.target.assign(target.begin(), target.end());
  return frame;
}

// Aggregates list their fields in wire order; braces keep the reads in that order.
Frame read_body(FrameType type, Reader& in) {
  switch (type) {
    case FrameType::kPing: return PingFrame{};
    case FrameType::kData: return read_data(in);
    case FrameType::kFin: return FinFrame{in.varint(), in.varint()};
    case FrameType::kReset: return read_reset(in);
    case FrameType::kStop: return StopFrame{in.varint()};
    case FrameType::kStreamCredit: return StreamCreditFrame{in.varint(), in.varint()};
    case FrameType::kSessionCredit: return SessionCreditFrame{in.varint()};
    case FrameType::kReport: return read_report(in);
    case FrameType::kFloor: return read_floor(in);
    case FrameType::kComplete: return CompleteFrame{in.varint()};
    case FrameType::kOpen: return read_open(in);
    case FrameType::kOpened: return OpenedFrame{in.varint()};
    case FrameType::kExchange: return read_exchange(in);
    case FrameType::kSet: return SetFrame{bounded(in, 1, kMaxDatagramChannels), in.varint()};
    case FrameType::kExit: return ExitFrame{in.u8()};
    case FrameType::kPadding: break;
  }
  in.fail();
  return PingFrame{};
}

void type(Writer& out, FrameType t) { out.u8(static_cast<std::uint8_t>(t)); }

void pair(Writer& out, FrameType t, std::uint64_t a, std::uint64_t b) {
  type(out, t);
  out.varint(a);
  out.varint(b);
}

void single(Writer& out, FrameType t, std::uint64_t a) {
  type(out, t);
  out.varint(a);
}

void write_exchange(Writer& out, const ExchangeFrame& f) {
  single(out, FrameType::kExchange, f.channels);
  out.varint(f.ports.size());
  for (const std::uint16_t port : f.ports) out.u16(port);
  out.varint(f.memory);
}

}  // namespace

std::optional<Frame> read_frame(Reader& in) {
  while (in.remaining() > 0 && !in.failed()) {
    const auto frame_type = static_cast<FrameType>(in.u8());
    if (frame_type == FrameType::kPadding) continue;
    Frame frame = read_body(frame_type, in);
    if (!in.failed()) return frame;
  }
  return std::nullopt;
}

std::size_t encoded_size(const ControlFrame& frame) {
  const auto v = varint_size;
  return 1 + std::visit(
                 Overloaded{
                     [&](const FinFrame& f) { return v(f.stream) + v(f.final_size); },
                     [&](const ResetFrame& f) { return v(f.stream) + v(f.final_size) + 1; },
                     [&](const StopFrame& f) { return v(f.stream); },
                     [&](const StreamCreditFrame& f) { return v(f.stream) + v(f.limit); },
                     [&](const SessionCreditFrame& f) { return v(f.limit); },
                     [&](const CompleteFrame& f) { return v(f.stream); },
                     [&](const OpenFrame& f) { return v(f.stream) + v(f.target.size()) + f.target.size(); },
                     [&](const OpenedFrame& f) { return v(f.stream); },
                     [&](const ExchangeFrame& f) {
                       return v(f.channels) + v(f.ports.size()) + 2 * f.ports.size() + v(f.memory);
                     },
                     [&](const SetFrame& f) { return v(f.channels) + v(f.memory); },
                     [&](const ExitFrame&) { return std::size_t{1}; }},
                 frame);
}

void write_frame(Writer& out, const ControlFrame& frame) {
  std::visit(
      Overloaded{[&](const FinFrame& f) { pair(out, FrameType::kFin, f.stream, f.final_size); },
                 [&](const ResetFrame& f) {
                   pair(out, FrameType::kReset, f.stream, f.final_size);
                   out.u8(static_cast<std::uint8_t>(f.reason));
                 },
                 [&](const StopFrame& f) { single(out, FrameType::kStop, f.stream); },
                 [&](const StreamCreditFrame& f) { pair(out, FrameType::kStreamCredit, f.stream, f.limit); },
                 [&](const SessionCreditFrame& f) { single(out, FrameType::kSessionCredit, f.limit); },
                 [&](const CompleteFrame& f) { single(out, FrameType::kComplete, f.stream); },
                 [&](const OpenFrame& f) {
                   single(out, FrameType::kOpen, f.stream);
                   out.block(as_bytes(f.target));
                 },
                 [&](const OpenedFrame& f) { single(out, FrameType::kOpened, f.stream); },
                 [&](const ExchangeFrame& f) { write_exchange(out, f); },
                 [&](const SetFrame& f) { pair(out, FrameType::kSet, f.channels, f.memory); },
                 [&](const ExitFrame& f) {
                   type(out, FrameType::kExit);
                   out.u8(f.status);
                 }},
      frame);
}

void write_ping(Writer& out) { type(out, FrameType::kPing); }

void write_floor(Writer& out, const FloorFrame& frame) {
  pair(out, FrameType::kFloor, frame.channel, frame.floor);
  write_duration(out, frame.report_interval);
}

PacketNumber write_report(Writer& out, const ReportFrame& frame, std::size_t room) {
  CHECK(!frame.ranges.empty() && room >= kMinReportSize && room <= out.remaining());
  const std::size_t end = out.size() + room;
  single(out, FrameType::kReport, frame.channel);
  out.varint(frame.sequence);
  write_duration(out, frame.delay);
  out.varint(frame.arrived);
  out.varint(frame.received);
  out.varint(frame.duplicates);
  out.varint(frame.kernel_drops);
  out.varint(frame.ranges.front().end - 1);
  return write_ranges(out, frame.ranges, end - out.size());
}

std::size_t data_overhead(StreamId stream, std::uint64_t offset, std::size_t size) {
  return 1 + varint_size(stream) + varint_size(offset) + varint_size(size);
}

MutableBytes write_data(Writer& out, StreamId stream, std::uint64_t offset, std::size_t size) {
  pair(out, FrameType::kData, stream, offset);
  out.varint(size);
  return out.reserve(size);
}

}  // namespace mcdtp
