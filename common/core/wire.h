#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/core/bytes.h"
#include "common/core/ranges.h"
#include "common/core/types.h"
#include "common/core/wire_ranges.h"

// Every frame: its fields, its bounds, its bytes. mcdtp-protocol(7) is the prose twin of this file.
// The header of a packet is in packet_header.h. Integers are varints (RFC 9000 section 16) unless said.
namespace mcdtp {

// Flags of a packet's header: MCDTP's 0 (new bytes), 1 (retransmitted) and 2 (finished).
enum PacketFlags : std::uint8_t {
  kCarriesNewBytes = 0,
  kCarriesRequeued = 1,  // some of its bytes were sent before
  kNothingLeft = 2,      // the sender had nothing left to send after it: report within 1 ms
};

enum class FrameType : std::uint8_t {
  kPadding = 0,  // a single zero byte
  kPing = 1,
  kData = 2,
  kFin = 3,
  kReset = 4,
  kStop = 5,
  kStreamCredit = 6,
  kSessionCredit = 7,
  kReport = 8,
  kFloor = 9,
  kComplete = 10,
  kOpen = 11,
  kExchange = 12,
  kSet = 13,
  kExit = 14,
  kOpened = 15,
};

inline constexpr std::uint64_t kMaxStreamOffset = kMaxVarint;
inline constexpr std::size_t kMaxTargetSize = 1024;

// Asks for a report. Sent to an address it is also the challenge, and the report that covers it the echo.
struct PingFrame {
  bool operator==(const PingFrame&) const = default;
};

// Bytes of a stream from `offset` on. `data` points into the packet.
struct DataFrame {
  StreamId stream = 0;
  std::uint64_t offset = 0;
  Bytes data;
};

// The stream ends after `final_size` bytes.
struct FinFrame {
  StreamId stream = 0;
  std::uint64_t final_size = 0;
  auto operator<=>(const FinFrame&) const = default;
};

// Why a stream is given up. What is not known here counts as kGivenUp.
enum class ResetReason : std::uint8_t {
  kGivenUp = 0,      // by its user
  kProhibited = 1,   // of all but kGivenUp and kBrokenOff it never came to be. The opener may not have this
  kRefused = 2,      // nothing listens at the target
  kUnreachable = 3,  // no way to the target's host
  kUnknownName = 4,  // the target's name does not resolve
  kTooMany = 5,      // no room for one more
  kBrokenOff = 6,    // all its bytes count and are sent, as before FIN; then their connection was reset
  kNetworkUnreachable = 7,  // no way to the target's network
  kNoAnswer = 8,            // in time
  kNoNameServer = 9,        // the target's name cannot be looked up now
};

// The sender gives the stream up; `final_size` is what it had sent, for credit. With kBrokenOff it is a FIN.
struct ResetFrame {
  StreamId stream = 0;
  std::uint64_t final_size = 0;
  ResetReason reason = ResetReason::kGivenUp;
  auto operator<=>(const ResetFrame&) const = default;
};

// The receiver wants no more of the stream (ssh's eow@openssh.com): answered by RESET, unless it is given up or
// COMPLETE already.
struct StopFrame {
  StreamId stream = 0;
  auto operator<=>(const StopFrame&) const = default;
};

// The sender may send bytes of the stream below `limit`. The largest ever received counts.
struct StreamCreditFrame {
  StreamId stream = 0;
  std::uint64_t limit = 0;
  auto operator<=>(const StreamCreditFrame&) const = default;
};

// The sum over all streams of the highest offset sent may reach `limit`. The largest counts.
struct SessionCreditFrame {
  std::uint64_t limit = 0;
  auto operator<=>(const SessionCreditFrame&) const = default;
};

// What a receiver says of one channel. State, not a delta, and what it names has come for good.
struct ReportFrame {
  ChannelId channel = 0;
  std::uint64_t sequence = 0;
  Duration delay{};                // since the largest came, microseconds on the wire
  std::uint64_t arrived = 0;       // when that was, see clock_of_report(); below kReportClock
  std::uint64_t received = 0;      // packets that opened, ever
  std::uint64_t duplicates = 0;    // packets that came twice, ever
  std::uint64_t kernel_drops = 0;  // datagrams the receiver's kernel had no room for, ever
  // What has come, newest (largest) first, neither touching nor overlapping. Never empty.
  std::vector<Range> ranges;
  bool operator==(const ReportFrame&) const = default;
};

// A host's own clock, whatever it begins with: microseconds, modulo kReportClock.
inline constexpr std::uint64_t kReportClock = std::uint64_t{1} << 30;
inline std::uint64_t clock_of_report(Time time) {
  return static_cast<std::uint64_t>(std::chrono::floor<microseconds>(time.time_since_epoch()).count()) %
         kReportClock;
}

// What a sender says of one channel: every number below `floor` is resolved, the receiver may forget it.
// `report_interval`: how often the sender wants reports, microseconds on the wire.
struct FloorFrame {
  ChannelId channel = 0;
  PacketNumber floor = 0;
  Duration report_interval{};
  bool operator==(const FloorFrame&) const = default;
};

// Success report: the receiver has the whole stream.
struct CompleteFrame {
  StreamId stream = 0;
  auto operator<=>(const CompleteFrame&) const = default;
};

// Opens a stream to `target`, whose form is the opener's and the taker's affair.
struct OpenFrame {
  StreamId stream = 0;
  std::string target;
  auto operator<=>(const OpenFrame&) const = default;
};

// The opener's target has been reached, or what it asked for is done.
struct OpenedFrame {
  StreamId stream = 0;
  auto operator<=>(const OpenedFrame&) const = default;
};

// The client's first frame (MCDTP's Exchange): how many datagram channels it can have (1 to 64), from which
// ports, by channel (0, or none: not known), and the memory it grants in bytes.
struct ExchangeFrame {
  std::uint64_t channels = 0;
  std::vector<std::uint16_t> ports;
  std::uint64_t memory = 0;
  auto operator<=>(const ExchangeFrame&) const = default;
};

// The server's answer (MCDTP's Set): the smaller of both counts and memories.
struct SetFrame {
  std::uint64_t channels = 0;
  std::uint64_t memory = 0;
  auto operator<=>(const SetFrame&) const = default;
};

// The command has ended with this status (255: by a signal).
struct ExitFrame {
  std::uint8_t status = 0;
  auto operator<=>(const ExitFrame&) const = default;
};

// Frames that are sent again in a new packet until a report covers them.
using ControlFrame = std::variant<FinFrame, ResetFrame, StopFrame, StreamCreditFrame, SessionCreditFrame,
                                  CompleteFrame, OpenFrame, OpenedFrame, ExchangeFrame, SetFrame, ExitFrame>;
using Frame = std::variant<PingFrame, DataFrame, FinFrame, ResetFrame, StopFrame, StreamCreditFrame,
                           SessionCreditFrame, ReportFrame, FloorFrame, CompleteFrame, OpenFrame, OpenedFrame,
                           ExchangeFrame, SetFrame, ExitFrame>;

// The next frame; padding is passed over. nullopt: none is left, or the bytes are no frame (reader.failed()).
std::optional<Frame> read_frame(Reader& reader);

// Bytes that the frame takes.
std::size_t encoded_size(const ControlFrame& frame);
// REQUIRES: writer.remaining() >= encoded_size(frame).
void write_frame(Writer& writer, const ControlFrame& frame);
void write_ping(Writer& writer);
// REQUIRES: room for kMaxFloorSize.
void write_floor(Writer& writer, const FloorFrame& frame);
// Writes as much of the newest ranges as fits in `room` bytes, see write_ranges(), and returns the lowest number
// named. REQUIRES: writer.remaining() >= room >= kMinReportSize.
PacketNumber write_report(Writer& writer, const ReportFrame& frame, std::size_t room);
// Bytes that a data frame takes before its data.
std::size_t data_overhead(StreamId stream, std::uint64_t offset, std::size_t size);
// Writes the head of a data frame and returns the room for its data.
// REQUIRES: room for data_overhead() + size.
MutableBytes write_data(Writer& writer, StreamId stream, std::uint64_t offset, std::size_t size);

inline constexpr std::size_t kMaxFloorSize = 1 + 4 + 8 + 8;
inline constexpr std::size_t kMinReportSize = 1 + 4 + 8 * 8 + 2 * 8;
static_assert(kMinReportSize >= 1 + 4 + 7 * 8 + kMinRangesSize);

}  // namespace mcdtp
