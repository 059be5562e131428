#pragma once

#include <algorithm>
#include <optional>

#include "common/core/types.h"

namespace mcdtp {

inline constexpr std::uint64_t kInitialStreamWindow = 1 << 20;
inline constexpr std::uint64_t kInitialSessionWindow = 4 * kInitialStreamWindow;
inline constexpr std::uint64_t kDefaultMemory = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMinMemory = std::uint64_t{8} << 20;

// How far beyond what was consumed a sender may go. The limit given out only rises.
class CreditWindow {
 public:
  explicit CreditWindow(std::uint64_t window) : window_(window), limit_(window) {}

  void set_window(std::uint64_t bytes) { window_ = std::max(window_, bytes); }
  // The new limit, when it is worth a frame: a quarter of the window is used up.
  std::optional<std::uint64_t> renew(std::uint64_t consumed) {
    const std::uint64_t limit = consumed + window_;
    if (limit < limit_ + window_ / 4) return std::nullopt;
    return limit_ = limit;
  }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t window() const { return window_; }

 private:
  std::uint64_t window_;
  std::uint64_t limit_;
};

// Sizes windows from what arrives: a stream that loses packets needs rate x RTT x (1 + k), k the rounds until
// all packets are in, each about 1.4 RTT long: a loss is noticed some reports late. The losses of a whole transfer
// count, not those of one RTT: 100,000 packets at 5 % need k = 4, at 10 % k = 5. kRounds covers that, and the
// two RTTs by which the measure lags behind a start-up that doubles.
// One stream gets at most a quarter of the session's window, the session at most `memory`.
class WindowTuner {
 public:
  static constexpr std::uint64_t kRounds = 12;

  explicit WindowTuner(std::uint64_t memory) : memory_(memory) {}

  void set_memory(std::uint64_t bytes) { memory_ = bytes; }
  // True: the windows have grown.
  bool on_arrived(Time now, std::uint64_t bytes, Duration rtt) {
    arrived_ += bytes;
    const Duration period = std::max<Duration>(rtt, milliseconds(2));
    if (now - since_ < period) return false;
    const double share = std::min(1.0, to_seconds(period) / to_seconds(now - since_));
    const auto per_rtt = static_cast<std::uint64_t>(static_cast<double>(arrived_) * share);
    since_ = now;
    arrived_ = 0;
    const std::uint64_t wanted = std::min(kRounds * per_rtt, memory_ / 4);
    if (wanted <= stream_window_) return false;
    stream_window_ = wanted;
    return true;
  }
  std::uint64_t memory() const { return memory_; }
  std::uint64_t stream_window() const { return stream_window_; }
  std::uint64_t session_window() const { return std::min(4 * stream_window_, memory_); }

 private:
  std::uint64_t memory_;
  std::uint64_t stream_window_ = kInitialStreamWindow;
  std::uint64_t arrived_ = 0;
  Time since_{};
};

}  // namespace mcdtp
