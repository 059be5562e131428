#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "common/core/types.h"

namespace mcdtp {

// What the RTTs of a path say of the queue on it: its delay is the smallest RTT of a round less the smallest of the
// last kLife. A round is what its user calls so.
class QueueDelay {
 public:
  static constexpr Duration kLife = seconds(30);
  static constexpr Duration kUnknownRtt = milliseconds(100);

  void on_rtt(Time now, Duration rtt) {
    if (now - half_life_began_ > kLife / 2) renew(now);
    found_shorter_ = found_shorter_ || (knows_rtt() && min_rtt() - rtt > kMinGrowth / 2);
    min_rtt_[0] = std::min(min_rtt_[0], rtt);
    round_min_ = std::min(round_min_, rtt);
    round_max_ = std::max(round_max_, rtt);
    if (!grows(rtt)) {
      long_since_.reset();
    } else if (!long_since_) {
      long_since_ = now;
    }
  }
  void end_round() {
    if (round_min_ != kNone) longest_rtt_[0] = std::max(longest_rtt_[0], round_min_);
    found_shorter_ = false;
    before_ = round_max_;
    round_min_ = kNone;
    round_max_ = Duration{};
  }
  // The longest RTT of this round was a queue, however short it was there.
  void keep_longest() { longest_rtt_[0] = std::max(longest_rtt_[0], round_max_); }

  bool knows_rtt() const { return min_rtt() != kNone; }
  // kNone: none was seen.
  Duration min_rtt() const { return std::min(min_rtt_[0], min_rtt_[1]); }
  double rtt_seconds() const { return to_seconds(knows_rtt() ? min_rtt() : kUnknownRtt); }
  // Of this round until now, and the longest of late, in seconds.
  double round() const { return round_min_ == kNone ? 0 : to_seconds(round_min_ - min_rtt()); }
  double longest() const {
    return knows_rtt() ? std::max(0.0, to_seconds(std::max(longest_rtt_[0], longest_rtt_[1]) - min_rtt()))
                       : 0;
  }
  // This round's smallest RTT is well below all before: those were of a queue.
  bool found_shorter() const { return found_shorter_; }
  // For so long the RTT has been well above all those of the round before: our own doing, not that of others.
  // A train of probes queues for a moment: the shorter, the less it means.
  bool has_grown_for(Time now, Duration how_long) const {
    return long_since_ && now - *long_since_ >= how_long;
  }

 private:
  static constexpr Duration kNone = Duration::max();
  // By so much of the RTT, and by more than hosts do.
  static constexpr int kGrowthShare = 16;
  static constexpr Duration kMinGrowth = milliseconds(2);

  bool grows(Duration rtt) const {
    return rtt - std::max(min_rtt(), before_) > std::max<Duration>(min_rtt() / kGrowthShare, kMinGrowth);
  }
  void renew(Time now) {
    min_rtt_ = {kNone, min_rtt_[0]};
    longest_rtt_ = {Duration{}, longest_rtt_[0]};
    half_life_began_ = now;
  }

  std::array<Duration, 2> min_rtt_ = {kNone, kNone};  // of this half life and of the one before
  std::array<Duration, 2> longest_rtt_ = {};          // likewise: of the rounds' smallest the largest
  bool found_shorter_ = false;
  Time half_life_began_{};
  Duration round_min_ = kNone;
  Duration round_max_{};
  Duration before_{};  // the largest RTT of the round before
  std::optional<Time> long_since_;
};

}  // namespace mcdtp
