#pragma once

#include <array>
#include <deque>
#include <optional>
#include <utility>

#include "common/core/sent_packets.h"

namespace mcdtp {

// Bytes that were lost, sent again, and lost again. All that came behind them waits for them at the receiver, by then for
// more than two round trips; and where packets meet that fate often, one of them soon does so once more. There they go
// twice: at once, and no sooner than kApart later, when a burst of losses is over.
// Often: kOften packets before it in an RTT, on any channel. It is not worth it where the RTT is shorter than kLongRtt.
// Guarantee: bytes that go twice <= kFree + bytes sent / kShare.
class LostAgain {
 public:
  static constexpr std::size_t kOften = 10;
  static constexpr std::uint64_t kFree = 64 * 1024;
  static constexpr std::uint64_t kShare = 200;
  static constexpr Duration kApart = milliseconds(5);

  LostAgain() { lost_at_.fill(kLongAgo); }
  // A packet of `size` bytes was sent.
  void on_sent(std::uint64_t size) { sent_ += size; }
  // A packet that carried bytes a second time or more often was lost, with this cargo. `rtt`: the smallest.
  void note(Time now, Duration rtt, const Cargo& cargo) {
    const Time before = std::exchange(lost_at_[next_], now);
    next_ = (next_ + 1) % kOften;
    if (rtt < kLongRtt || now - before > rtt) return;
    cargo.for_each_data([&](const DataRef& ref) { add(now, ref); });
  }
  // Bytes whose second copy is due, each once.
  std::optional<DataRef> take_due(Time now) {
    if (waiting_.empty() || waiting_.front().due > now) return std::nullopt;
    const DataRef ref = waiting_.front().ref;
    waiting_.pop_front();
    return ref;
  }

 private:
  static constexpr Time kLongAgo = Time(-std::chrono::hours(1));  // longer than any RTT

  struct Waiting {
    Time due;
    DataRef ref;
  };

  void add(Time now, const DataRef& ref) {
    if (added_ + ref.size > kFree + sent_ / kShare) return;
    added_ += ref.size;
    waiting_.push_back({now + kApart, ref});
  }

  std::array<Time, kOften> lost_at_;  // of the last packets, a ring
  std::size_t next_ = 0;              // its oldest
  std::deque<Waiting> waiting_;
  std::uint64_t sent_ = 0;   // bytes, ever
  std::uint64_t added_ = 0;  // bytes, ever
};

}  // namespace mcdtp
