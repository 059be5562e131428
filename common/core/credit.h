#pragma once

#include <algorithm>
#include <optional>

#include "common/core/stream_buffer.h"
#include "common/core/types.h"

namespace mcdtp {

// What a stream may send before any credit has come: streams 0 and 1, and those that are opened.
inline constexpr std::uint64_t kInitialStdioWindow = 1 << 20;
inline constexpr std::uint64_t kInitialStreamWindow = 16 * 1024;
inline constexpr std::uint64_t kInitialSessionWindow = 4 << 20;
// Of a Session that is told none: the programs take a part of the host's, see default_memory().
inline constexpr std::uint64_t kUntoldMemory = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMinMemory = std::uint64_t{8} << 20;

// A limit given out to a sender. It only rises.
class CreditWindow {
 public:
  // Less is worth a frame only where it is a quarter of the window.
  static constexpr std::uint64_t kMinGain = 16 * 1024;

  explicit CreditWindow(std::uint64_t limit) : limit_(limit) {}

  // `window`: how far beyond `consumed` the sender may go now; `highest`: how far it has gone. The new limit, when it
  // is worth a frame: a quarter of the window, or half of what the sender has left.
  std::optional<std::uint64_t> renew(std::uint64_t consumed, std::uint64_t highest, std::uint64_t window) {
    const std::uint64_t limit = consumed + window;
    if (limit <= limit_) return std::nullopt;
    const std::uint64_t left = limit_ - std::min(highest, limit_);
    if (limit - limit_ < std::min(window / 4, std::max(left / 2, kMinGain))) return std::nullopt;
    return limit_ = limit;
  }
  std::uint64_t limit() const { return limit_; }

 private:
  std::uint64_t limit_;
};

// How --memory is shared out, see mcdtp-protocol(7). Sizes in bytes.
// Invariant: data() + 2 blocks for each of max_streams() + the spare blocks of both ways = memory.
class MemoryShares {
 public:
  explicit MemoryShares(std::uint64_t memory) : memory_(memory) {}

  std::uint64_t memory() const { return memory_; }
  // Streams that may exist at once.
  std::size_t max_streams() const {
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(memory_ / 16 / kEdges, 128, 4096));
  }
  // Holes in what came, over all streams: a peer that leaves more is not losing packets, it wants our memory. A sender that
  // has all of it under way, in the smallest packets, and loses each other one stays below. Where there is little memory
  // that is too few for packets of many streams' few bytes, each of which leaves as many holes.
  std::size_t max_holes() const {
    constexpr std::uint64_t kOfManyStreams = 1 << 20;
    return static_cast<std::size_t>(std::max(memory_ / 1024, std::min(memory_ / 64, kOfManyStreams)));
  }
  // For what is held for sending, in blocks, and what the peer has credit for, together.
  std::uint64_t data() const { return memory_ - max_streams() * kEdges - kSpares; }
  // Of so many streams, some of which take no room from others: what more of them keep than there may be.
  std::uint64_t beyond(std::size_t streams) const {
    return streams > max_streams() ? (streams - max_streams()) * kEdges : 0;
  }
  // How many such there may be, while so much is held for sending and the peer has credit for so much.
  std::size_t most_beyond(std::uint64_t held, std::uint64_t credit) const {
    const std::uint64_t all = for_sending(credit);
    return std::min<std::size_t>(max_streams(), (all - std::min(held, all)) / kEdges);
  }
  // What may be held for sending, in blocks, while the peer has credit for so much.
  std::uint64_t for_sending(std::uint64_t credit) const { return data() - std::min(credit, data()); }
  // Up to where a stream may go on taking of it: after that there is a block for each stream that has none.
  std::uint64_t one_stream_sends(std::uint64_t credit, std::size_t streams) const {
    const std::uint64_t all = for_sending(credit);
    const std::uint64_t kept = std::max<std::uint64_t>(streams, 128) * BlockPool::kBlockSize;
    return all - std::min(kept, all / 2);
  }
  // What the peer may have credit for while so much is held for sending.
  std::uint64_t session_window(std::uint64_t held_for_sending) const {
    return data() - std::min(data(), std::max(held_for_sending, memory_ / 8));
  }
  // What a stream may have credit for before anything has come of it, where it is free.
  std::uint64_t first_window() const {
    return std::clamp<std::uint64_t>(memory_ / 1024, 16 * 1024, 64 * 1024);
  }
  // Credit that no other stream can take away.
  std::uint64_t reserve() const {
    return std::clamp<std::uint64_t>(all_reserves() / max_streams(), kInitialStreamWindow, 64 * 1024);
  }
  // Streams that have their reserve whatever others have, for what these have credit for cannot be taken back: 64 where memory
  // is kMinMemory, 256 where it is 64 MiB, and 2048 where it is 1 GiB.
  std::uint64_t backed() const { return std::min<std::uint64_t>(max_streams(), all_reserves() / reserve()); }
  // Room for the reserves of so many streams, and of some to come.
  std::uint64_t reserved(std::size_t streams) const {
    return std::max<std::uint64_t>(streams, backed()) * reserve();
  }
  // What one stream may have credit for where others have `others` beyond their reserves: 7/8 of what is free, so
  // that a stream alone has nearly all, n busy ones share evenly, and those that come find something.
  std::uint64_t stream_window(std::uint64_t session_window, std::size_t streams, std::uint64_t others) const {
    const std::uint64_t taken = reserved(streams) + others;
    return reserve() + (session_window > taken ? (session_window - taken) / 8 * 7 : 0);
  }

 private:
  std::uint64_t all_reserves() const {
    return std::max<std::uint64_t>(std::min<std::uint64_t>(memory_ / 8, 4 << 20), memory_ / 32);
  }

  // What a stream receives begins and ends in the middle of a block.
  static constexpr std::uint64_t kEdges = 2 * BlockPool::kBlockSize;
  static constexpr std::uint64_t kSpares = 2 * BlockPool::kMaxSpares * BlockPool::kBlockSize;

  std::uint64_t memory_;
};

// Sizes windows from what arrives: a stream that loses packets needs rate x RTT x (1 + k), k the rounds until
// all packets are in, each about 1.4 RTT long: a loss is noticed some reports late. The losses of a whole transfer
// count, not those of one RTT: 100,000 packets at 5 % need k = 4, at 10 % k = 5. kRounds covers that, and the
// two RTTs by which the measure lags behind a start-up. One that knows the rate from its first trains goes there at once,
// so what has come counts before an RTT is over.
class WindowTuner {
 public:
  static constexpr std::uint64_t kRounds = 12;
  // Bytes. A start-up that knows the rate from its first trains sends as much before it hears of more credit: what they
  // bring, kTrains, is reason enough to grow so far.
  static constexpr std::uint64_t kLeastGrown = 3 * kInitialStdioWindow;
  static constexpr std::uint64_t kTrains = 32 * 1024;

  // True: the window has grown.
  bool on_arrived(Time now, std::uint64_t bytes, Duration rtt) {
    arrived_ += bytes;
    if (window_ < kLeastGrown && arrived_ >= kTrains) return begin();
    const Duration period = std::max<Duration>(rtt, milliseconds(2));
    if (now - since_ < period) return grow(arrived_, window_ / 4);
    const double share = std::min(1.0, to_seconds(period) / to_seconds(now - since_));
    const auto per_rtt = static_cast<std::uint64_t>(static_cast<double>(arrived_) * share);
    since_ = now;
    arrived_ = 0;
    return grow(per_rtt, 0);
  }
  // What a stream wants to have credit for.
  std::uint64_t window() const { return window_; }

 private:
  bool begin() {
    window_ = kLeastGrown;
    return true;
  }
  // `least`: the growth that is worth its frames.
  bool grow(std::uint64_t per_rtt, std::uint64_t least) {
    if (kRounds * per_rtt <= window_ + least) return false;
    window_ = kRounds * per_rtt;
    return true;
  }

  std::uint64_t window_ = kInitialStdioWindow;  // bytes
  std::uint64_t arrived_ = 0;                   // bytes
  Time since_{};
};

}  // namespace mcdtp
