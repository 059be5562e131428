#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mcdtp {

// Time as the session sees it: it is always handed in. Only common/io/system.h can read a real clock.
using Duration = std::chrono::nanoseconds;
struct SessionClock {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<SessionClock>;
  static constexpr bool is_steady = true;
};
using Time = SessionClock::time_point;
inline constexpr Time kNever = Time::max();

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// From here on an RTT is long, as by satellite or to another continent: what takes one more of them is worth a price.
inline constexpr Duration kLongRtt = milliseconds(150);

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

// A stream carries one ordered byte stream each way. 0: stdin up, stdout down. 1: stderr down.
// Streams opened by the client are even from 2 on, those opened by the server odd from 3 on.
using StreamId = std::uint64_t;
inline constexpr StreamId kStdio = 0;
inline constexpr StreamId kStderr = 1;
inline constexpr StreamId kFirstClientStream = 2;
inline constexpr StreamId kFirstServerStream = 3;

// Never used twice on a channel in one direction. The wire carries all eight bytes.
using PacketNumber = std::uint64_t;

// Never used twice in a session: 0 to 63 UDP, 255 the SSH channel, 256 and up TCP connections, or SSH ones,
// one id a connection.
using ChannelId = std::uint16_t;
inline constexpr ChannelId kMaxDatagramChannels = 64;
inline constexpr ChannelId kSshChannel = 255;
inline constexpr ChannelId kFirstTcpChannel = 256;

// Bytes of UDP payload: what every path carries (RFC 9000 section 14), and what IPv4 can carry.
inline constexpr std::size_t kMinDatagram = 1200;
inline constexpr std::size_t kMaxDatagram = 65507;

// A name the driver gives to one far address of one channel.
using PathId = std::uint32_t;

// Of UDP and TCP; both ends are included.
struct PortRange {
  std::uint16_t low = 60000;
  std::uint16_t high = 61000;
  bool operator==(const PortRange&) const = default;
};

enum class Role : std::uint8_t { kClient, kServer };

// Whether the datagram channels of a session are sent under one congestion controller, or each under its own.
enum class Coupling : std::uint8_t { kCoupled, kNone };

inline double to_seconds(Duration d) { return std::chrono::duration<double>(d).count(); }
inline Duration from_seconds(double s) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
}

}  // namespace mcdtp
