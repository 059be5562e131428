#pragma once

#include <algorithm>

namespace mcdtp {

// How a pace grows where no queue tells what the path can do: by a stake above the rate, for some rounds. A step that paid,
// the rate having grown with it, is followed by a larger one; one that did not by a small one. Where loss was the brake
// there is a ceiling: near it no step is large, and after one that did not pay the pace rests. Rates in bytes/s.
class RateSteps {
 public:
  static constexpr int kRestRounds = 8;
  static constexpr double kLongestRest = 3;  // s, where that is more

  // What was seen of late.
  struct Signs {
    bool is_clean = false;  // hardly anything was lost
    bool is_free = false;   // little more than by the path itself, and a queue would show what is too much
  };
  // The pace of the next round. `rate`: what the last one showed.
  double next_pace(double rate, Signs signs) {
    if (rest_ > 0) {
      --rest_;
      return rate;
    }
    const bool pays = has_paid(rate, signs.is_free);
    const bool is_over = pays || stake_ == 0 || ++rounds_ >= kRounds;
    if (is_over && !pays && stake_ > 0) {
      missed_ = signs.is_free && !is_near_ceiling(rate);
      if (is_near_ceiling(rate)) return stay(rate, signs.is_clean);
    }
    if (is_over) begin(rate, pays);
    return base_ * (1 + stake_);
  }
  // A round is over, `weight` of which, 0 to 1, shows in the rate: rounds of few packets say less.
  void on_round(double weight) { known_ += (1 - known_) * weight; }
  void stop() { stake_ = 0; }
  // A queue shows: what the path can do is known now.
  void see_queue() {
    stop();
    missed_ = false;
  }
  // The last one cost something; a large one was too much.
  void see_loss() {
    missed_ = false;
    if (is_large()) stop();
  }
  bool is_large() const { return stake_ > kFirst; }

  // `round`: in seconds.
  void found_ceiling(double rate, double round) {
    if (!is_near_ceiling(rate)) {
      rest_rounds_ = kRestRounds;
    } else if (!rests()) {
      rest_rounds_ = std::min(2 * rest_rounds_,
                              std::max(kRestRounds, static_cast<int>(kLongestRest / std::max(round, 1e-3))));
    }
    ceiling_ = rate;
    rest();
  }
  void forget_ceiling() { ceiling_ = 0; }
  bool is_near_ceiling(double rate) const {
    return rate > kFarBelow * ceiling_ && rate < kFarAbove * ceiling_;
  }
  bool rests() const { return rest_ > 0; }
  void end_rest() { rest_ = 0; }

 private:
  static constexpr double kFirst = 0.04;
  static constexpr double kUnseen = 0.2;  // less may not show in the rate
  static constexpr double kGrowth = 3;
  static constexpr double kPays = 0.8;  // of the stake
  static constexpr double kHalfKnown = 0.5;
  static constexpr int kRounds = 4;
  static constexpr double kFarBelow = 0.8;   // of the ceiling
  static constexpr double kFarAbove = 1.25;  // likewise

  // The rate has grown with the step. After one that did not show and cost nothing, a small one is taken to have paid that
  // costs nothing in a second round, when that could be seen: the rate is known no better than that, as on a path whose
  // delay wanders.
  bool has_paid(double rate, bool is_free) const {
    if (stake_ == 0 || known_ <= kHalfKnown) return false;
    const bool is_too_small = missed_ && is_free && rounds_ > 0 && stake_ < kUnseen && !is_near_ceiling(rate);
    return is_too_small || rate >= base_ * (1 + kPays * known_ * stake_);
  }
  double stay(double rate, bool is_clean) {
    if (is_clean) ceiling_ = 0, rest_rounds_ = kRestRounds;
    rest();
    return rate;
  }
  void begin(double rate, bool after_one_that_paid) {
    stake_ = after_one_that_paid && !is_near_ceiling(rate) ? std::min(1.0, stake_ * kGrowth) : kFirst;
    base_ = rate;
    rounds_ = 0;
    known_ = 0;
  }
  void rest() {
    stake_ = 0;
    rest_ = rest_rounds_;
  }

  double stake_ = 0;               // the pace is above the rate by so much, as a share
  double base_ = 0;                // the rate as the step began
  int rounds_ = 0;                 // of this step
  double known_ = 0;               // how much of the step the rate shows, as a share
  bool missed_ = false;            // the last one that did not pay cost nothing
  double ceiling_ = 0;             // what came through when loss was the brake; 0: none is known
  int rest_ = 0;                   // rounds left,
  int rest_rounds_ = kRestRounds;  // of so many
};

}  // namespace mcdtp
