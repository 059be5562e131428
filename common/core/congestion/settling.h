#pragma once

#include <algorithm>

namespace mcdtp {

// Whether a queue that shows is one. What hosts and radios do to the RTT of a short path looks like a queue and passes. So
// does giving way to it: who then sends less sees less come through, and would take that for what the path can do. Times in
// seconds.
class Settling {
 public:
  // A round is over that took so long. `shows`: it saw a queue. `is_short`: the path is. `is_longest`: the queue is, of
  // late.
  void on_round(bool shows, double took, bool is_short, bool is_longest) {
    const double needed = !is_short ? 0 : is_longest ? kLongestSettled : kSettled;
    stood_ = shows ? stood_ + took : 0;
    is_over_ = shows && (is_over_ || stood_ >= needed);
    part_ = shows && is_short ? std::min(1.0, took / needed) : 1;
  }
  // What has shown until now says nothing of what shows from now on.
  void forget() { stood_ = 0, is_over_ = false; }
  // Once it has settled it counts until it is gone.
  bool is_over() const { return is_over_; }
  // How much of the time that it needs the last round was; 1 where nothing has to settle.
  double part_of_round() const { return part_; }

 private:
  static constexpr double kSettled = 0.3;
  static constexpr double kLongestSettled = 0.05;

  double stood_ = 0;  // for so long a queue has shown in each round
  bool is_over_ = false;
  double part_ = 1;
};

}  // namespace mcdtp
