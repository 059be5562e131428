#pragma once

#include "common/core/congestion/boost.h"
#include "common/core/congestion/catch_up.h"
#include "common/core/congestion/contest.h"
#include "common/core/congestion/longer_path.h"
#include "common/core/congestion/newcomer.h"
#include "common/core/congestion/path_loss.h"
#include "common/core/congestion/queue_delay.h"
#include "common/core/congestion/rate_steps.h"
#include "common/core/congestion/rtt_probe.h"
#include "common/core/congestion/settling.h"
#include "common/core/congestion/small_share.h"
#include "common/core/congestion/start_up.h"
#include "common/core/congestion/still_queue.h"
#include "common/core/sent_packets.h"

namespace mcdtp {

// A rate model that tells random loss from congestion and keeps a short queue. It knows
//   rate      bytes/s that the path takes from us: what is delivered, divided by 1 - p0, for the wire is full although
//             p0 of it is lost; of a round that chance has dealt more or fewer losses, by what it has lost. While a queue
//             stands (on a short path: has settled, see Settling) that is what the path can do, and the mean of the last
//             rounds counts; else the largest seen
//   p0, p     see PathLoss
//   queue     see QueueDelay: what we and others keep waiting, in seconds
// and sends, a round (the RTT and the wait for a report, but no moment that shows only what hosts do) at a time, at
//   pace = rate x (1 + kAnswer x (target - queue) / (RTT + queue))       (after FAST TCP)
// The target, see queue_target(): 1 / sqrt(rate) times a constant, but less than an RTT that is not short, and on a short
// path than a part of a buffer that was seen to overflow, is smaller for who sends more, so that equal sessions come to
// equal rates; with kAnswer < 1/2 the queue settles although its news is two rounds old. Who sees a queue well below its
// own target takes larger steps, see Boost; who has just come and sees one far above it keeps its rate for some rounds; who
// has little of a long path sends somewhat more, see SmallShare.
// More than 0.3 lost in three rounds in a row halves the rate, whatever the phase: the breaker.
// What our own host has missed while it stood still lowers no rate, and some of it is made up for, see CatchUp.
// Without any queue the pace grows in steps, see RateSteps. Where loss is the brake and a queue never shows (a policer), the
// rate falls to what comes through.
//
// Phases, changed only at the end of a round, unless said otherwise:
//   kStartup  more than doubles the rate each round until a queue shows or, where rounds are not short, most of what was
//             sent is lost (both at once), more than a quarter of a round was, or the rate no longer grows. What is sent in
//             the first round grows with the RTT. Where rounds are not short trains are sent first, and once they agree on
//             the rate the start-up goes there at once, and carefully on, see HeadStart.
//             One that few losses ended goes on from kLevel when they turn out to be the path's own
//   kDrain    until the queue of start-up is gone (at once): as fast as packets come out of that the path is. Where a long path
//             loses packets it goes on with kDown for what is left of the round: a careful start-up, which leaves little, with
//             all of one
//   kLevel    at the pace above
//   kDown     one round well below the rate: empties the queue for all who share it, and measures p0 and the RTT, but for
//             its beginning, which meets the queue of before. Several, where they are short and it is not known whose
//             the loss is
//   kProbeRtt a round (at once) at a quarter of the rate, and a little longer, to see what becomes of the queue: where the RTT
//             that was taken for the path's may be that of a full queue, see RttProbe. A shorter one makes p0 unknown again
//
// Where others fill the queue, see Contest, kLevel does what TCP CUBIC does: in doubt, see below, from somewhat below the
// target on, for that of who sends little is long. It takes a loss for congestion only where the queue is full and the path
// loses next to nothing by itself, or where more is lost than it does. While others keep the queue full, what was taken for
// p0 fades, for they could not, did the path lose much: slowly while the rounds lose as much. Who has never seen a queue,
// however much was sent, learns nothing of p0 unless the RTT is calm: a queue that others keep full moves. A kDown that finds
// the queue empty ends that. One that finds the same RTT again and again has found a path that has become longer, see
// LongerPath, and no others; and so has who gives way to a queue that does not move at all, see StillQueue. So has, where
// nothing looks like others, a kDown that leaves a queue nearly as long as it was again and again: a radio line may take longer
// for who sends much.
//
// Who comes to a queue that is full already takes its RTT for the path's own, and its losses for random ones. Hence
// doubt: it begins with a start-up that lost more than any path does, grows with each kDown that does not find the queue
// short, and falls with each that does. In doubt nothing is learned of p0, and loss means what it means to
// TCP CUBIC where a queue stands.
class CongestionAuto : public CongestionController {
 public:
  void on_report(const ReportSample& sample) override;
  void on_silence(Time now) override;
  double pacing_rate() const override;
  std::uint64_t window() const override;
  bool quiet(Time now) const override;
  double quantum(Duration rtt) const override;
  bool sends_trains() const override;
  Duration catch_up(Duration rtt) const override;
  void on_early() override { start_up_.on_early(); }
  void forbid_trains() override { start_up_.give_up_trains(); }

  bool is_starting() const override { return phase_ == Phase::kStartup; }

  double path_loss() const { return loss_.own(); }
  Duration min_rtt() const { return queue_.min_rtt(); }

 private:
  enum class Phase : std::uint8_t { kStartup, kDrain, kLevel, kDown, kProbeRtt };
  static constexpr double kOverflow = 0.25;    // a share: more than any path loses by itself
  static constexpr double kLeastRound = 0.01;  // s: in a shorter one hosts are seen, not the path

  // What was seen in the round that is running.
  struct Round {
    // The newest packet that the first report of the round has covered; sent 0: none.
    ArrivalMark first;
    double covered = 0;           // bytes
    double first_covered = 0;     // of them, by that report
    double lost = 0;              // bytes
    double sent = 0;              // bytes between its marks, known at its end
    Duration covered_span{};      // of a report, at most
    double quiet = 0;             // bytes of `covered`: sent while quiet()
    double quiet_lost = 0;        // bytes, likewise
    bool breaks_trains = false;   // a queue shorter than a train lost much of it
    bool of_probe = false;        // little was sent, for a part of it
    bool limited = true;          // by the application, all of it
    bool partly_limited = false;  // ... some of it
    bool host_limited = false;    // some of it, by our host
    // By the application or by ourselves: the path could have done more.
    bool is_held_back() const { return partly_limited || is_quiet() || of_probe; }
    bool is_quiet() const { return quiet > covered / 2; }
    // Sent slower to see what becomes of our own queue: not by all of the host together.
    bool is_slower() const { return is_quiet() && !of_probe; }
    double loss() const { return lost > 0 ? lost / (covered + lost) : 0; }
    // Of `sent`.
    double kept() const { return sent * (1 - loss()); }
  };

  void note_rate(const ReportSample& sample);
  void note_train(const ReportSample& sample);
  void follow_tcp(const ReportSample& sample);
  double rate_of_arrivals(const ReportSample& sample) const;
  bool is_round_over(const ReportSample& sample) const;
  void end_round(const ReportSample& sample);
  void learn_from_round(const ReportSample& sample);
  void pass_limited_round();
  void begin_round(const ReportSample& sample);
  bool overfilled_buffer() const;
  void note_catch_up(Time now);
  void fade_own_loss();
  void measure_path();
  void note_late_quiet_losses();
  bool found_room() const;
  Duration arrival_span(const ReportSample& sample) const;
  double rate_of_round(const ReportSample& sample) const;
  double most_of_round(double sent_in) const;
  double round_taken() const;
  double loss_of_round() const;
  void learn_rate(const ReportSample& sample);
  double round_took(Time now) const;
  bool is_short_path() const;
  bool is_long_path() const;
  double weight_of_round() const;
  void give_way(const ReportSample& sample);
  void note_cut();
  void fall_to_what_came(const ReportSample& sample);
  void choose_phase(Time now);
  void judge_startup(Time now);
  bool ended_start_by_chance() const;
  void end_drain(Time now);
  void end_down(Time now);
  bool queue_fell() const;
  bool queue_is_ours() const;
  void look_whether_queue_fell();
  void look_at_length(Duration rtt);
  void look_whether_queue_moves();
  void take_length(Duration rtt);
  void set_pace(Time now);
  bool waits_for_room(double target, double queue);
  double more_for_small_share();
  void judge_contest(Time now);
  double window_now() const;
  void contest(double window);
  bool is_in_doubt() const;
  bool may_overflow() const;
  bool contest_trial_goes_on();
  bool looks_on(Time now) const;
  void trip_breaker();
  void enter(Time now, Phase phase);

  double wanted_rate() const;
  double late_seconds() const;
  bool reports_wait() const;
  double round_seconds() const;
  double fair_queue(double rate) const;
  double falls_by_down() const;
  bool is_queued() const;
  bool is_overflowing() const;
  bool is_overflowing_by_far() const;
  bool sees_queues() const;
  bool queues_tell() const;
  bool is_time_for_down(Time now) const;
  void begin_probe_in_time(Time now);
  void end_probe_in_time(Time now);

  Phase phase_ = Phase::kStartup;
  PathLoss loss_;
  QueueDelay queue_;
  Settling settling_;
  RttProbe rtt_probe_;
  Round round_;
  std::uint64_t covered_before_ = 0;  // newest_covered as the round began
  Time sent_before_{};                // when the newest packet that had arrived as the round began was sent,
  Time arrived_before_{};             // and when it arrived
  Time round_began_{};
  std::uint64_t round_ends_at_ = 1;  // when a packet sent after this many bytes is covered
  int rounds_in_phase_ = 0;
  int doubt_ = 0;  // grows with each quiet round that did not find the queue short; see is_in_doubt
  Time phase_began_{};
  Duration span_before_{};          // covered by a report of the round before, at most
  bool was_idle_ = false;           // nothing was in flight after the report before
  double rate_ = 0;                 // bytes/s
  double pace_ = 0;                 // bytes/s, of kLevel
  double drained_rate_ = 0;         // bytes/s, kDrain: known before this round
  double queue_before_slower_ = 0;  // s, as the last phase began that sends slower

  StartUp start_up_;
  bool ended_by_few_losses_ = false;  // so few that chance may have dealt them
  RateSteps steps_;
  Boost boost_;
  CatchUp catch_up_;
  Newcomer newcomer_;
  SmallShare small_share_;
  bool went_down_ = false;          // kDown: sent quietly, and not into a long queue that the start-up left
  bool learns_from_quiet_ = false;  // of p0, from the last round that was sent quietly
  bool quiet_was_kept_ = false;     // hardly anything was lost of the last round that was sent quietly
  int unqueued_cuts_ = 0;           // in a row, for loss of our own where no queue stood
  int cuts_at_rest_ = 0;            // in a row, while steps rest
  int lossy_rounds_ = 0;            // in a row, for the breaker

  LargestOfLate<double> peak_rate_{QueueDelay::kLife, 0};  // bytes/s
  Contest contest_;
  LongerPath longer_path_;
  StillQueue still_queue_;
  Duration report_interval_ = milliseconds(25);
};

}  // namespace mcdtp
