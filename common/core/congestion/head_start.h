#pragma once

#include <algorithm>
#include <limits>

#include "common/core/congestion/congestion.h"
#include "common/core/congestion/dispersion.h"

namespace mcdtp {

// What a start-up learns of the path's rate before it has sent at that rate: its first packets go in trains, see
// Dispersion, and those that follow in longer ones where these were too fast to be told.
// Once the trains agree the pace is kShare of what they say at once, for others may be there, and then no more than that
// until it has come through, and a little more from there on: either a queue shows, and that is the end of the start-up, or
// the trains were wrong, and the start-up goes on as without them. Rates in bytes/s.
class HeadStart {
 public:
  static constexpr double kTrain = 16 * 1200;      // bytes
  static constexpr double kLongTrain = 48 * 1200;  // likewise; fits one GSO buffer

  bool wants_trains() const { return !over_ && !trains_.is_done(); }
  // Bytes, of the trains that are wanted.
  double train() const { return train_; }
  bool wants_long_trains() const { return wants_trains() && train_ > kTrain; }
  // A report whose newest packet was sent in a start-up.
  void on_report(const ReportSample& sample) {
    if (!wants_trains() || !sample.rtt || sample.newest_covered == 0) return;
    const bool was_long = wants_long_trains();
    trains_.note(sample.newest_covered - sample.train, sample.train, sample.newest_arrived_at);
    if (train_ == kTrain && trains_.is_too_fast()) go_on_with_long_trains();
    if (!was_long || !wants_long_trains()) known_at_ = sample.now;
  }
  // What was learned long ago is no help to who has had little to send since: the path may be another. Nor are long trains
  // wanted for ever. `rtt` in seconds.
  void tell_time(Time now, double rtt) {
    const bool is_long_ago = to_seconds(now - known_at_) > std::max(kLife, kRounds * rtt);
    if (trains_.rate() > 0 && is_long_ago) forget();
    if (wants_long_trains() && is_long_ago) give_up();
  }
  // The trains do not get through, for a policer lets some pass at the speed of the wire and no more; or none are to be
  // sent.
  void give_up() {
    over_ = true;
    forget();
  }

  // What trains say of the path, bytes/s; 0: nothing is known.
  double capacity() const { return trains_.rate(); }
  // What the pace may be at once, but `most`; 0: nothing is known.
  double rate(double most) const { return std::min(kShare * trains_.rate(), most); }
  // The pace that is not to be exceeded while so much comes through, `kept` of what is sent.
  double bound(double rate, double kept) const {
    return is_believed(rate) ? std::max(trains_.rate(), kCareful * rate / kept)
                             : std::numeric_limits<double>::infinity();
  }

 private:
  static constexpr double kShare = 0.6;
  static constexpr double kCareful = 1.12;
  static constexpr double kRefuted = 1.1;  // times what they say came through: the trains were wrong

  void forget() {
    train_ = kTrain;
    trains_ = Dispersion(kLeastOfTrain);
  }
  void go_on_with_long_trains() {
    train_ = kLongTrain;
    trains_ = Dispersion(kLeastOfLongTrain);
  }
  bool is_believed(double rate) const { return trains_.rate() > 0 && rate < kRefuted * trains_.rate(); }

  static constexpr double kLeastOfTrain = 6e3;  // bytes
  // Likewise; those before it may still be reported.
  static constexpr double kLeastOfLongTrain = 1.5 * kTrain;
  static constexpr double kLife = 2;     // s, but
  static constexpr double kRounds = 16;  // at least

  double train_ = kTrain;
  Dispersion trains_{kLeastOfTrain};
  Time known_at_{};  // or since when long trains are wanted
  bool over_ = false;
};

}  // namespace mcdtp
