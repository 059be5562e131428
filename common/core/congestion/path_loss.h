#pragma once

#include <algorithm>
#include <utility>

#include "common/core/congestion/congestion.h"

namespace mcdtp {

// The loss of a path, as shares of what was sent:
//   own()     p0: what the path loses by itself, measured only on packets sent while the controller was quiet() and the
//             queue short, so that no loss that we or others cause can be taken for the path's; at most kMaxOwn; where those
//             are few no more than about twice recent()
//   recent()  p: what is lost of late, whoever is to blame; over four rounds, or kMemory if that is more
class PathLoss {
 public:
  static constexpr double kMaxOwn = 0.15;
  // So much more than p0 may be lost without being a sign of congestion.
  static constexpr double kMargin = 0.02;
  static constexpr double kFewQuiet = 1e5;  // bytes: so many do not say whose the loss is

  // Bytes of one round that were sent while quiet(); what was lost may be less than nothing, when losses of an earlier
  // round were found. REQUIRES: the queue was short then: what others drown in it is not the path's own loss either.
  void on_quiet(double covered, double lost) { quiet_.add(covered, lost, kQuietMemory); }
  // The same of any round, whatever the queue.
  void on_any_quiet(double covered, double lost) { any_quiet_.add(covered, lost, kAnyQuietMemory); }
  void forget_any_quiet() { any_quiet_ = {}; }
  // A shorter RTT was found: what was taken for a short queue was none.
  void forget_own() { quiet_ = {}; }
  // Others keep the queue full all the same: who can do that loses little on this path. `left`: a share.
  void fade_own(double left) { quiet_.lost *= left; }
  // Bytes of one round.
  void on_round(double covered, double lost) {
    if (pause_ > 0) {
      --pause_;
      return;
    }
    const double kept = std::max(0.75, 1 - (covered + lost) / kMemory);
    covered_ = covered_ * kept + covered;
    lost_ = lost_ * kept + lost;
    bound_own();
  }
  // The rate was cut for recent(): what was sent before says nothing of what is sent from now on.
  void on_cut() {
    before_cut_ = lately();
    covered_ = lost_ = 0;
    pause_ = kPauseRounds;
  }

  double own() const { return std::min(kMaxOwn, share(quiet_.covered + prior(), quiet_.lost)); }
  double recent() const { return share(covered_, lost_); }
  // The same, and until it is known again that of before a cut.
  double lately() const { return covered_ + lost_ > 0 ? recent() : before_cut_; }
  // Enough was sent quietly to say whose loss it is. Where hardly anything is lost of that, or hardly more than a path that
  // is known for longer loses by itself, what is lost of the rest is what we send too much.
  bool knows_whose() const { return any_quiet_.sum() > kFewQuiet; }
  bool is_ours() const {
    const double known = quiet_.sum() > kAnyQuietMemory ? own() + kMargin / 2 : 0;
    return knows_whose() && any_quiet_.lost < std::max(kMargin, known) * any_quiet_.sum();
  }
  // A share that is more than the path loses by itself, and may lose without being a sign of congestion.
  bool is_beyond_own(double loss) const { return loss > own() + kMargin; }
  bool loses_more() const { return is_beyond_own(recent()); }
  // p0 rests on few packets yet.
  bool own_is_vague() const { return recent() > 0 && quiet_.covered < kQuietMemory / 2; }
  // The share of what was sent that would have come through a path that loses no more than it may.
  double kept_share(double loss) const { return std::min(1.0, (1 - loss) / (1 - own() - kMargin)); }
  // More is lost than the path loses by itself, by more than chance: shares of few packets differ by chance. `overflows`:
  // the queue is full or was never seen, so that loss needs no other reason, however little is known of p0.
  bool is_congested(bool overflows) const {
    const double vague = overflows ? 0 : std::min(1.0, kMemory / std::max(1.0, quiet_.covered));
    const double chance = kMemory / std::max(1.0, covered_ + lost_) + vague;
    return recent() > own() + kMargin * (1 + chance);
  }

 private:
  // Bytes that fade.
  struct Tally {
    double covered = 0;
    double lost = 0;
    double sum() const { return covered + lost; }
    void add(double more_covered, double more_lost, double memory) {
      covered += more_covered;
      lost = std::max(0.0, lost + more_lost);
      const double fade = std::min(1.0, memory / std::max(1.0, sum()));
      covered *= fade;
      lost *= fade;
    }
  };

  static constexpr double kQuietMemory = 1.2e6;  // bytes
  static constexpr double kPrior =
      6e4;  // bytes without a loss, taken for granted while little was sent quietly
  static constexpr double kAnyQuietMemory = 3e5;  // bytes
  static constexpr double kMemory = 3.6e5;        // bytes
  static constexpr int kPauseRounds = 2;
  static constexpr int kSureRounds = 4;

  // Little was sent quietly, and more of all: of that no less is lost, round for round, than the path loses by itself.
  void bound_own() {
    const bool is_low =
        quiet_.sum() < kFewQuiet && covered_ + lost_ > kFewQuiet && most_for(recent()) < own();
    low_rounds_ = is_low ? low_rounds_ + 1 : 0;
    most_low_ = is_low ? std::max(most_low_, recent()) : 0;
    if (low_rounds_ < kSureRounds) return;
    low_rounds_ = 0;
    const double most = most_for(std::exchange(most_low_, 0));
    if (own() > most) quiet_.lost = most / (1 - most) * (quiet_.covered + prior());
  }
  // What the path may lose by itself where so much is lost of all.
  static double most_for(double loss) { return 2 * loss + kMargin / 2; }
  double prior() const { return kPrior * kPrior / (kPrior + quiet_.covered); }
  static double share(double covered, double lost) { return lost > 0 ? lost / (covered + lost) : 0; }

  Tally quiet_;         // with a short queue
  Tally any_quiet_;     // with any
  double covered_ = 0;  // bytes, fading
  double lost_ = 0;
  int pause_ = 0;  // rounds that do not count yet
  double before_cut_ = 0;
  int low_rounds_ = 0;   // in a row that lost too little for own(),
  double most_low_ = 0;  // and the most of recent() in them
};

}  // namespace mcdtp
