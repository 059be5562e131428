#pragma once

#include <algorithm>

#include "common/core/of_late.h"

namespace mcdtp {

// Whether the smallest RTT of late may be that of a queue which others have kept full ever since we came. More is lost than
// next to nothing, and either it has not been met for a while, and what was sent somewhat slower has not shortened the queue
// as it would one of our own; or for longer no queue showed at all: one that is always full looks like that, too. To send
// little is no proof among many who go on, so they do it together: all sessions of a host send little for a moment at the
// same time, by its clock (after BBR's ProbeRTT).
class RttProbe {
 public:
  // What was seen of one.
  struct Round {
    bool at_floor = false;     // its RTT was about the smallest of late, at least once
    bool left_as_was = false;  // sent slower, and the queue is none of ours
    bool queued = false;       // a queue showed
    double lost = 0;           // a share, of late
    double rtt = 0;            // s: the smallest of late
  };
  // A round is over.
  void on_round(Time now, const Round& round) {
    if (round.rtt < kFallen * rtt_) interval_ = kShortest;
    const bool loses = round.lost > kLost;
    away_.note(now, !round.at_floor);
    left_as_was_ = !round.at_floor && (left_as_was_ || round.left_as_was);
    unqueued_.note(now, loses && !round.queued);
    const bool is_away = loses && left_as_was_ && away_.lasts(now, kRounds);
    is_wanted_ = is_wanted_ || is_away || unqueued_.lasts(now, kUnqueuedRounds);
  }
  // A round is over in which there was not always something to send: it says nothing.
  void on_limited_round() {
    is_wanted_ = left_as_was_ = false;
    away_ = unqueued_ = {};
  }
  // Little is to be sent from now on, for a while.
  bool is_due(Time now, double round) const {
    if (!is_wanted_) return false;
    const Duration every = interval(round);
    return to_seconds(now.time_since_epoch() % every) < kLateRounds * round && now - began_ > every / 2;
  }
  // It begins; `rtt`: the smallest of late, in seconds.
  void begin(Time now, double rtt) {
    on_limited_round();
    began_ = now;
    rtt_ = rtt;
    interval_ = std::min<Duration>(2 * interval_, kLongest);
  }
  void end(Time now) { ended_ = now; }
  // Of what was sent from then to then some was sent while little was to be sent.
  bool is_between(Time from, Time to) const {
    return began_ != Time{} && to >= began_ && from <= std::max(ended_, began_);
  }

 private:
  static constexpr int kRounds = 8;
  static constexpr int kUnqueuedRounds = 16;
  static constexpr Duration kTime = seconds(1);
  static constexpr double kLost = 0.02;
  static constexpr Duration kShortest = seconds(4);
  static constexpr Duration kLongest = seconds(32);
  static constexpr double kShare = 48;  // rounds from one to the next at least, but for the first
  static constexpr double kLateRounds = 2;
  static constexpr double kFallen = 0.94;

  // Rounds of a kind, in a row.
  struct Streak {
    int rounds = 0;
    Time since{};  // the end of the first
    void note(Time now, bool is_one) {
      if (is_one && rounds == 0) since = now;
      rounds = is_one ? std::min(rounds + 1, kUnqueuedRounds) : 0;
    }
    bool lasts(Time now, int least) const { return rounds >= least && now - since > kTime; }
  };

  // Each is twice the next shorter one, so that those who take a longer one meet those who take a shorter one.
  Duration interval(double round) const {
    Duration every = interval_;
    while (began_ != Time{} && to_seconds(every) < kShare * round) every *= 2;
    return every;
  }

  Streak away_;               // from the smallest RTT
  bool left_as_was_ = false;  // one of them
  Streak unqueued_;           // that lost more than next to nothing
  bool is_wanted_ = false;
  Duration interval_ = kShortest;
  Time began_{};
  Time ended_{};
  double rtt_ = 0;  // before it began
};

}  // namespace mcdtp
