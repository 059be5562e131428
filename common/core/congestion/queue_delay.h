#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "common/core/of_late.h"

namespace mcdtp {

// What the RTTs of a path say of the queue on it: its delay is the smallest RTT of a round less the smallest of the
// last kLife. A round is what its user calls so. Where the RTT changes by itself (a radio link, a busy host), that is no
// queue: it does so within each round and on all channels, while a queue of those who send at even rates hardly moves in
// most rounds.
class QueueDelay {
 public:
  static constexpr Duration kLife = seconds(30);
  static constexpr Duration kUnknownRtt = milliseconds(100);

  // `variation`: of the RTTs of that channel, as RFC 9002's rttvar.
  void on_rtt(Time now, Duration rtt, Duration variation = {}) {
    min_rtt_.tell_time(now);
    longest_rtt_.tell_time(now);
    overflow_.tell_time(now);
    found_shorter_ = found_shorter_ || (knows_rtt() && min_rtt() - rtt > kMinGrowth / 2);
    min_rtt_.note(rtt);
    round_min_ = std::min(round_min_, rtt);
    round_max_ = std::max(round_max_, rtt);
    calmest_ = std::min(calmest_, variation);
    if (!grows(rtt)) {
      long_since_.reset();
    } else if (!long_since_) {
      long_since_ = now;
    }
  }
  void end_round() {
    if (round_min_ != kNone) {
      longest_rtt_.note(round_min_);
      std::rotate(variations_.begin(), variations_.end() - 1, variations_.end());
      variations_.front() = calmest_;
      calmest_ = kNone;
    }
    found_shorter_ = false;
    before_ = round_max_;
    const Duration span = round_min_ == kNone ? Duration{} : round_max_ - round_min_;
    before_span_ = std::max<Duration>(span, before_span_ * 3 / 4);
    round_min_ = kNone;
    round_max_ = Duration{};
  }
  // The longest RTT of this round was a queue, however short it was there.
  void keep_longest() { longest_rtt_.note(round_max_); }

  // The buffer was too short for the longest queue of this round. REQUIRES: may_fill_buffer().
  void note_overflow() { overflow_.note(to_seconds(round_max_ - min_rtt())); }

  // The path has become another, and this is all that is known of it.
  void begin_again(Duration rtt) {
    min_rtt_ = {kLife, kNone};
    min_rtt_.note(rtt);
    forget_queues();
  }
  // The smallest of this round until now.
  std::optional<Duration> round_rtt() const {
    return round_min_ == kNone ? std::nullopt : std::optional(round_min_);
  }

  // What was seen was no queue.
  void forget_queues() {
    longest_rtt_ = {kLife, Duration{}};
    overflow_ = {kLife, 0};
  }

  bool knows_rtt() const { return min_rtt() != kNone; }
  // kNone: none was seen.
  Duration min_rtt() const { return min_rtt_.get(); }
  double rtt_seconds() const { return to_seconds(knows_rtt() ? min_rtt() : kUnknownRtt); }
  // Of this round until now, and the longest of late, in seconds.
  double round() const { return round_min_ == kNone ? 0 : to_seconds(round_min_ - min_rtt()); }
  double longest() const {
    return knows_rtt() ? std::max(0.0, to_seconds(longest_rtt_.get() - min_rtt())) : 0;
  }
  // The longest that overflowed of late, or stood there without overflowing, in seconds; 0: none has overflowed of late.
  double buffer() const { return overflow_.get() > 0 ? std::max(overflow_.get(), longest()) : 0; }
  // The largest RTT of the round before, less the smallest of late, in seconds. Not of this one: a queue that has begun to
  // grow is no reason to send more until it is known.
  double largest_before() const { return knows_rtt() ? std::max(0.0, to_seconds(before_ - min_rtt())) : 0; }
  // What of round() must be a queue to one who aims at `target`, all in seconds.
  double standing(double target) const {
    const bool is_short_buffer = buffer() < 2 * train_delay();
    const double own = std::max(kOwnUnrest * target, is_short_buffer ? kUnrestOfBuffer * buffer() : 0);
    return std::max(0.0, round() - std::max(0.0, unrest() - own));
  }
  // More than half of `target` waits, in seconds: a queue stands.
  bool is_above_half(double target) const { return standing(target) > target / 2; }
  // More waits than one who aims at `target` would leave.
  bool is_crowded(double target) const { return standing(target) > kCrowded * target + kHostDelay; }
  // No more waits than little of what there was of late, but for what is no queue.
  bool is_short() const { return round() - unrest() <= std::max(kHostDelay, kShort * longest()); }
  bool is_empty() const { return !found_shorter_ && round() < std::max(kEmpty * longest(), kHostDelay); }
  // None, as far as hosts and the path let that be told.
  bool is_at_floor() const { return round() < least_seen(); }
  // As long as it ever was of late, and that is more than hosts or a train of ours make.
  bool is_full() const { return round() > std::max(kFull * longest(), train_delay()); }
  // The same, and also where no queue of late was so long, for a buffer may be as short as a train of ours: nearly as long
  // as any of them, and more than hosts make.
  bool may_fill_buffer() const {
    const bool none_is_long = longest() < train_delay();
    return is_full() || (none_is_long && round() > std::max(kNearly * longest(), kHostDelay));
  }
  // Longer than any noted of late, see keep_longest().
  bool is_longest() const { return round() > longest(); }
  // Who sends what the path can take sees a queue now and then, were it of `target`. Who never does sends too little, or
  // is policed, or has known the path only with its queue full: its smallest RTT is that of a full queue.
  bool was_seen(double target) const { return longest() >= std::min(target, least_seen()); }
  // The RTT hardly moves. A queue that others keep full moves with their bursts.
  bool is_calm() const { return unrest() < least_seen(); }
  // This round's smallest RTT is well below all before: those were of a queue.
  bool found_shorter() const { return found_shorter_; }
  // For so long the RTT has been well above all those of the round before: our own doing, not that of others.
  // A train of probes queues for a moment: the shorter, the less it means.
  bool has_grown_for(Time now, Duration how_long) const {
    return long_since_ && now - *long_since_ >= how_long;
  }

 private:
  static constexpr Duration kNone = Duration::max();
  // By so much of the RTT, by more than hosts do, and by more than the RTTs of a round differed of late.
  static constexpr int kGrowthShare = 16;
  static constexpr Duration kMinGrowth = milliseconds(2);
  static constexpr double kOwnUnrest = 0.75;  // of the target: by so much a queue may move within a round,
  // And of a short buffer that overflows: such a queue comes and goes.
  static constexpr double kUnrestOfBuffer = 0.5;
  static constexpr double kVariations = 4;     // of the RTT, from its smallest to its largest
  static constexpr double kHostDelay = 0.001;  // s: what hosts add without any queue, at times
  static constexpr double kCrowded = 1.6;      // times the target
  static constexpr double kFull = 0.8;         // of the longest of late
  static constexpr double kNearly = 0.7;       // likewise
  static constexpr double kShort = 0.3;        // likewise
  static constexpr double kEmpty = 0.1;        // likewise
  static constexpr double kTrainShare = 0.1;   // of the RTT
  static constexpr double kSeenShare = 0.02;   // likewise

  // s: what hosts or a train of ours make.
  double train_delay() const { return kHostDelay + kTrainShare * rtt_seconds(); }
  // s: less is taken for what hosts and the path do.
  double least_seen() const { return kHostDelay + kSeenShare * rtt_seconds(); }
  bool grows(Duration rtt) const {
    return rtt - std::max(min_rtt(), before_) >
           std::max<Duration>({min_rtt() / kGrowthShare, kMinGrowth, before_span_});
  }
  // By how much the RTT differs within a round, in seconds. Not the mean: some rounds are those of our own steps, or of
  // others that come and go.
  double unrest() const {
    auto sorted = variations_;
    std::nth_element(sorted.begin(), sorted.begin() + 1, sorted.end());
    return kVariations * to_seconds(sorted[1]);
  }

  SmallestOfLate<Duration> min_rtt_{kLife, kNone};
  LargestOfLate<Duration> longest_rtt_{kLife, Duration{}};  // of the rounds' smallest, and what was kept
  LargestOfLate<double> overflow_{kLife, 0};                // s
  bool found_shorter_ = false;
  Duration round_min_ = kNone;
  Duration round_max_{};
  Duration before_{};         // the largest RTT of the round before,
  Duration before_span_{};    // and by how much it was above the smallest; or less than once before
  Duration calmest_ = kNone;  // the smallest variation of a channel's RTT in this round,
  std::array<Duration, 7> variations_{};  // and in the last rounds
  std::optional<Time> long_since_;
};

}  // namespace mcdtp
