#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "common/core/of_late.h"

namespace mcdtp {

// What one datagram channel carries by itself, and how long it takes, learnt from its own reports alone: so that a
// channel that is slower or later than the others is given no more than it delivers in time.
// The window grows with what arrives, as long as the channel shows no queue; while it shows one
//   window = kQueueGain x rate x round, rate: what arrived a second of late; round: the smallest RTT and the
//   wait for a report
// so that no more waits on it than keeps it busy.
class Capacity {
 public:
  static constexpr std::uint64_t kFirstWindow = 10 * 1200;  // bytes
  static constexpr std::uint64_t kMinWindow = 2 * 1200;     // bytes
  static constexpr double kQueueGain = 1.5;
  static constexpr Duration kMinRttLife = seconds(10);

  struct Sample {
    Time now{};
    std::uint64_t arrived = 0;    // bytes newly reported
    std::uint64_t in_flight = 0;  // bytes, before this report
    std::optional<Duration> rtt;
    Duration report_interval{};  // how long the receiver may hold a report
  };
  void on_report(const Sample& sample);
  // A packet goes out after nothing was in flight: silence is not the path's fault.
  void on_first_sent(Time now);
  // Beside the quickest channel, which takes `round` (> 0): a later one begins with less.
  void set_later_by(Duration later, Duration round) {
    later_by_ = later;
    weight_ = to_seconds(round) / to_seconds(round + later);
  }
  // The channel has to prove itself again: the path may be another.
  void forget() { *this = Capacity(); }

  bool has_rtt() const { return min_rtt() != kNone; }
  // When a byte sent now would be reported, at the earliest; `in_flight` bytes are before it. REQUIRES: has_rtt().
  Duration expected_rtt(std::uint64_t in_flight) const;
  // REQUIRES: has_rtt().
  Duration last_rtt() const { return last_rtt_; }
  // REQUIRES: has_rtt().
  Duration round() const { return min_rtt() + report_interval_; }
  Duration later_by() const { return later_by_; }
  // The quickest channel's round beside this one's, at most 1.
  double weight() const { return weight_; }
  // Bytes/s that arrived, the largest of late; 0: not known.
  double rate() const { return *std::max_element(rates_.begin(), rates_.end()); }
  // Bytes that are worth having in flight on this channel.
  std::uint64_t window() const;

  // Of an RTT, what is longer than the smallest by more is a queue.
  static Duration least_queue(Duration min_rtt) {
    return std::max<Duration>(min_rtt / kQueueShare, kMinQueue);
  }

 private:
  static constexpr Duration kNone = Duration::max();
  // A queue is what makes the RTT longer by more than this share of it, and by more than the hosts could.
  static constexpr int kQueueShare = 8;
  static constexpr Duration kMinQueue = milliseconds(4);

  Duration min_rtt() const { return min_rtt_.get(); }
  void note_rtt(Time now, Duration rtt);
  void note_rate(const Sample& sample);

  std::uint64_t window_ = 0;  // bytes; 0: nothing has grown yet
  Duration later_by_{};
  double weight_ = 1;
  std::array<double, 4> rates_{};  // bytes/s of the last rounds
  std::size_t rounds_ = 0;
  Time round_began_{};
  std::uint64_t round_arrived_ = 0;  // bytes
  SmallestOfLate<Duration> min_rtt_{kMinRttLife, kNone};
  Duration last_rtt_ = kNone;
  bool queue_stands_ = false;  // the last two samples of the RTT showed it
  Duration report_interval_{};
};

}  // namespace mcdtp
