#include "common/core/congestion/congestion_auto.h"

#include <algorithm>

#include "common/core/congestion/queue_target.h"

namespace mcdtp {
namespace {

constexpr double kManyLost = 20 * 1200;          // bytes: fewer may be chance
constexpr double kVeryManyLost = 4 * kManyLost;  // bytes: the rest of the round would be lost as well
constexpr double kMostLost = 0.5;                // a share
constexpr double kDrainGain = 0.5;
constexpr int kMaxDrainRounds = 4;
constexpr double kDownGain = 0.75;
constexpr double kFallsAtLeast = 0.3;  // of what a queue of our own alone would fall by
constexpr double kFallsAlone = 0.7;    // likewise
constexpr double kProbeGain = 0.25;
constexpr double kProbeSeen = 0.1;     // s: for so long at most what has become of the queue is to be seen
constexpr double kProbeWindow = 1200;  // bytes: its reports tell the RTT
constexpr double kFullFor = 0.15;      // of the RTT
constexpr int kLevelRounds = 15;
constexpr int kVagueRounds = 5;
constexpr Duration kMinLevel = seconds(2);
constexpr Duration kMinVagueLevel = seconds(1);
constexpr double kWindowGain = 2;
constexpr int kApartByItself = 3;  // intervals: reports of channels that take turns
constexpr Duration kLittleWait = milliseconds(25);
constexpr double kMostLate = 0.05;                           // s
constexpr double kEnoughToTell = 1.2 * PathLoss::kFewQuiet;  // bytes: some of it is lost, or not quiet yet
constexpr int kMaxLookRounds = 8;
constexpr int kManyDoubts = 2;
constexpr int kManyCutsAtRest = 4;
constexpr int kManyShortCutsAtRest = 8;  // on a short path, whose rounds say less
constexpr int kUnqueuedCuts = 3;         // what was seen of a queue is not what loses: that is a policer

constexpr double kAnswer = 0.25;
constexpr double kFarAbove = 4;       // times the target,
constexpr double kFarAboveRtt = 0.1;  // and of the RTT
constexpr double kMostCut = 0.5;      // is left at least: a round may have seen an outage

constexpr double kTargetInDoubt = 0.8;  // of the target: others are likely

constexpr double kLeastRate = 1;  // bytes/s
constexpr double kBreakerLoss = 0.3;
constexpr int kBreakerRounds = 3;

}  // namespace

// ---- what it decides ----

double CongestionAuto::pacing_rate() const {
  const double time = std::max({queue_.rtt_seconds(), late_seconds(), 0.001});
  const double least = phase_ == Phase::kProbeRtt ? kProbeWindow : static_cast<double>(kMinWindow);
  return std::max(least / time, wanted_rate());
}

double CongestionAuto::wanted_rate() const {
  switch (phase_) {
    case Phase::kStartup:
      return start_up_.pacing_rate(rate_, 1 - std::min(loss_.recent(), PathLoss::kMaxOwn));
    case Phase::kDrain: return kDrainGain * rate_;
    case Phase::kDown: return kDownGain * rate_;
    case Phase::kProbeRtt: return kProbeGain * rate_;
    case Phase::kLevel: break;
  }
  return contest_.is_on() ? contest_.tcp().pacing_rate() : pace_;
}

bool CongestionAuto::sends_trains() const { return phase_ == Phase::kStartup && start_up_.sends_trains(); }

double CongestionAuto::quantum(Duration rtt) const {
  const double usual = CongestionController::quantum(rtt);
  return sends_trains() ? std::max(usual, start_up_.train()) : usual;
}

// Little is known of the path's queue while the rate grows fast.
Duration CongestionAuto::catch_up(Duration rtt) const {
  const Duration usual = usual_catch_up(rtt);
  return phase_ == Phase::kStartup ? usual : catch_up_.get(usual);
}

// Where the RTT is now and then a multiple of the smallest, as in a local radio network, what is sent at the pace in such a
// time has to have room, or the rate would be what the window lets through. A queue may be the reason as well: not without
// bound.
std::uint64_t CongestionAuto::window() const {
  if (contest_.is_on() && phase_ == Phase::kLevel) return contest_.tcp().window();
  if (phase_ == Phase::kStartup) return start_up_.window(rate_, round_seconds());
  const double time = round_seconds() + (phase_ == Phase::kDrain ? 0 : late_seconds());
  return std::max(kMinWindow, static_cast<std::uint64_t>(kWindowGain * std::max(rate_, pace_) * time));
}

// The first packets of a phase may find a queue that those before them have filled to the brim.
bool CongestionAuto::quiet(Time now) const {
  const bool is_slow = phase_ != Phase::kStartup && phase_ != Phase::kLevel;
  return is_slow && to_seconds(now - phase_began_) >= kFullFor * queue_.rtt_seconds();
}

// How late packets come now, whatever the reason, or are reported by a host that stands still, and to be reckoned with.
double CongestionAuto::late_seconds() const {
  const double reported = to_seconds(span_before_ - kApartByItself * report_interval_);
  return std::min(std::max(queue_.largest_before(), reported), kMostLate);
}

// A host that stands still reports what has come all at once. Channels that take turns do so by a little as well.
bool CongestionAuto::reports_wait() const {
  return std::max(round_.covered_span, span_before_) > kApartByItself * report_interval_ + kLittleWait;
}

double CongestionAuto::round_seconds() const { return queue_.rtt_seconds() + to_seconds(report_interval_); }

double CongestionAuto::fair_queue(double rate) const {
  const double rtt = queue_.rtt_seconds();
  return queue_target(std::max(rate, kLeastRate), rtt, queue_.buffer(),
                      to_seconds(train_time(from_seconds(rtt))));
}

// By how much a kDown of one RTT shortens a queue of our own alone, in seconds.
double CongestionAuto::falls_by_down() const { return (1 - kDownGain) * queue_.rtt_seconds(); }

// More waits than half of what we would leave.
bool CongestionAuto::is_queued() const { return queue_.is_above_half(fair_queue(rate_)); }

bool CongestionAuto::sees_queues() const { return queue_.was_seen(fair_queue(rate_)); }

// A queue would show what is too much, and not loss alone.
bool CongestionAuto::queues_tell() const { return sees_queues() && unqueued_cuts_ == 0; }

// Rounds sent quietly have not found the queue short: others may keep it full, and may have all the while.
bool CongestionAuto::is_in_doubt() const { return doubt_ > kManyDoubts; }

bool CongestionAuto::may_overflow() const { return queue_.is_full() || is_in_doubt(); }

// ---- cuts ----

void CongestionAuto::give_way(const ReportSample& sample) {
  note_cut();
  if (!sees_queues() && round_.is_quiet())
    return;  // it says nothing of the rate, nor of what was sent before
  if (sees_queues() || round_.partly_limited || round_.lost > round_.covered) {
    rate_ *= std::max(kMostCut, loss_.kept_share(loss_.recent()));
  } else {
    fall_to_what_came(sample);
  }
  loss_.on_cut();
  contest_.forget_window();
}

// What is lost of what is sent quietly tells a policer from a path that has begun to lose: it has to be looked at
// meanwhile.
void CongestionAuto::note_cut() {
  steps_.see_loss();
  cuts_at_rest_ = steps_.rests() ? cuts_at_rest_ + 1 : 0;
  // No policer takes that much again and again of what is sent no faster than it came through: what was sent quietly had
  // luck.
  if (cuts_at_rest_ == (is_short_path() ? kManyShortCutsAtRest : kManyCutsAtRest)) loss_.forget_any_quiet();
  const bool may_be_policed = !is_queued() && loss_.is_ours();
  unqueued_cuts_ = may_be_policed ? unqueued_cuts_ + 1 : 0;
  if (unqueued_cuts_ == 1) quiet_was_kept_ = false;
  if (unqueued_cuts_ >= kUnqueuedCuts && quiet_was_kept_) queue_.forget_queues();
}

// A policer drops what is too much and shows nothing else: its rate is what comes through. Where less is lost of what is
// sent quietly, that is the ceiling.
void CongestionAuto::fall_to_what_came(const ReportSample& sample) {
  const double came = std::max(round_.covered, round_.kept()) / to_seconds(arrival_span(sample));
  const double before = rate_;
  rate_ += weight_of_round() * std::clamp(came - rate_, (kMostCut - 1) * rate_, 0.0);
  // What was sent quietly beside that was too much as well.
  if (rate_ < kDownGain * before) loss_.forget_any_quiet();
  lossy_rounds_ = 0;
  if (loss_.is_ours()) {
    steps_.found_ceiling(rate_, to_seconds(sample.now - round_began_));
  } else {
    steps_.forget_ceiling();
  }
}

// ---- phases ----

void CongestionAuto::choose_phase(Time now) {
  switch (phase_) {
    case Phase::kStartup: return judge_startup(now);
    case Phase::kDrain: return rounds_in_phase_ >= kMaxDrainRounds ? end_drain(now) : void();
    case Phase::kDown: return contest_trial_goes_on() || looks_on(now) ? void() : end_down(now);
    case Phase::kProbeRtt: return;
    case Phase::kLevel: break;
  }
  if (ended_start_by_chance()) return enter(now, Phase::kStartup);
  if (!contest_.is_on()) set_pace(now);
  if (is_time_for_down(now)) enter(now, Phase::kDown);
}

// Not by rounds alone: who has short ones would make room for the others all the time. While little is known of p0 it
// comes sooner where it costs nothing, for it only shortens the queue, or less than taking the path's loss for congestion;
// and where no queue is seen, or the path may lose more than it did, nothing else tells our own loss from that.
// Steps that pay are not broken off where a queue will end them. The first does not wait where it is
// cheap and cuts add up, as they do where queues were seen: for nothing, were the loss the path's own.
bool CongestionAuto::is_time_for_down(Time now) const {
  if (steps_.is_large() && queues_tell()) return false;
  const bool is_vague = !contest_.is_on() && loss_.own_is_vague();
  const bool is_free = is_vague && is_queued() && queue_.round() > falls_by_down();
  const bool loses_more = loss_.loses_more();
  const bool is_cheap = is_vague && !is_queued() && loses_more;
  const bool is_urgent = is_cheap && !went_down_ && sees_queues();
  const bool asks_length = contest_.is_on() && longer_path_.is_likely();
  const Duration least = is_vague || loses_more || asks_length || !sees_queues() ? kMinVagueLevel : kMinLevel;
  return rounds_in_phase_ >= (is_free || is_cheap || asks_length ? kVagueRounds : kLevelRounds) &&
         (is_free || is_urgent || now - phase_began_ >= least);
}

// At once, not at the end of a round: others of this host do it as well. Steps that pay are not broken off.
void CongestionAuto::begin_probe_in_time(Time now) {
  const bool is_steady = phase_ == Phase::kLevel || (phase_ == Phase::kDown && !contest_.is_on());
  if (!is_steady || steps_.is_large() || !rtt_probe_.is_due(now, round_seconds())) return;
  rtt_probe_.begin(now, queue_.rtt_seconds());
  enter(now, Phase::kProbeRtt);
}

void CongestionAuto::end_probe_in_time(Time now) {
  const double needed = round_seconds() + std::min(round_seconds(), kProbeSeen);
  if (to_seconds(now - phase_began_) < needed) return;
  rtt_probe_.end(now);
  enter(now, Phase::kLevel);
}

// More is lost than the path is known to lose, no queue was seen, and rounds are so short that too little was sent quietly
// to know whose the loss is: one after another would be sent for nothing until then.
bool CongestionAuto::looks_on(Time now) const {
  const bool is_in_the_dark = !sees_queues() && !loss_.knows_whose() && loss_.loses_more();
  const double sent = kDownGain * rate_ * to_seconds(now - phase_began_);
  return is_in_the_dark && is_short_path() && sent < kEnoughToTell && rounds_in_phase_ < kMaxLookRounds;
}

// More is lost than any path loses by itself.
bool CongestionAuto::is_overflowing() const { return round_.lost > kManyLost && round_.loss() > kOverflow; }

// A policer takes what is too much until less comes. A path that loses many at a time takes as much of a part of a round
// now and then, but hardly most of it; where a train met a short queue the trains are to end; and the rest of a short round
// costs little.
bool CongestionAuto::is_overflowing_by_far() const {
  const bool is_most_lost = round_.lost > kVeryManyLost && round_.loss() > kMostLost;
  return is_most_lost && !round_.breaks_trains && !is_short_path();
}

void CongestionAuto::judge_startup(Time now) {
  if (is_overflowing()) {
    if (round_.breaks_trains) return;
    ended_by_few_losses_ = round_.lost < kVeryManyLost && !is_short_path();
    doubt_ = kManyDoubts + 1;
    return enter(now, Phase::kDrain);
  }
  if (start_up_.grows(rate_)) return;
  if (round_.partly_limited && round_.lost <= kManyLost) return;
  if (start_up_.is_over_by_flat_round()) enter(now, Phase::kDrain);
}

// What is sent quietly is lost as well, and no queue was seen: the few losses that ended the start-up were the path's own, many
// at a time.
bool CongestionAuto::ended_start_by_chance() const {
  return ended_by_few_losses_ && !sees_queues() && !is_in_doubt() && loss_.own() > PathLoss::kMargin;
}

// The queue of the start-up is gone. Where rounds are long it is to be seen whose the losses are before they are answered: what is
// left of this one will do.
void CongestionAuto::end_drain(Time now) {
  const bool asks = is_long_path() && loss_.loses_more() && loss_.own_is_vague() && !is_in_doubt();
  enter(now, asks ? Phase::kDown : Phase::kLevel);
}

void CongestionAuto::end_down(Time now) {
  const auto rtt = queue_.round_rtt();
  if (contest_.is_on() && rtt) look_at_length(*rtt);
  enter(now, Phase::kLevel);
}

// What was sent well below the rate has shortened the queue as it would one of our own.
bool CongestionAuto::queue_fell() const {
  return queue_before_slower_ - queue_.round() >=
         kFallsAtLeast * std::min(queue_before_slower_, falls_by_down());
}

// Likewise, but by so much that hardly any of it is of others.
bool CongestionAuto::queue_is_ours() const {
  return round_.is_slower() && queue_before_slower_ - queue_.round() >= kFallsAlone * falls_by_down();
}

// Outside of a contest, too: what was sent well below the rate has left the queue as long as it was, or nearly. The delay of a
// radio line may be longer for who sends much, without any queue.
void CongestionAuto::look_whether_queue_fell() {
  if (contest_.is_on() || phase_ != Phase::kLevel || !round_.is_quiet() || round_.limited) return;
  if (queue_fell() || !is_queued()) return longer_path_.begin(loss_.own());
  look_at_length(*queue_.round_rtt());
}

void CongestionAuto::look_at_length(Duration rtt) {
  longer_path_.note(rtt, loss_.recent());
  if (longer_path_.is_sure(queue_.min_rtt())) take_length(longer_path_.rtt());
}

// In a contest, or where one may begin.
void CongestionAuto::look_whether_queue_moves() {
  if (phase_ != Phase::kLevel) return;
  const bool is_crowded = queue_.is_crowded(fair_queue(peak_rate_.get()));
  if (!is_crowded || longer_path_.loses_more(loss_.lately())) return still_queue_.forget();
  still_queue_.on_round(*queue_.round_rtt(), rate_);
  if (still_queue_.is_none()) take_length(still_queue_.rtt());
}

void CongestionAuto::take_length(Duration rtt) {
  catch_up_ = {};
  queue_.begin_again(rtt);
  longer_path_.begin(loss_.own());
  still_queue_.forget();
  doubt_ = 0;
}

void CongestionAuto::set_pace(Time now) {
  const double target = fair_queue(rate_), queue = queue_.standing(target);
  if (is_queued()) {
    const double time = std::max(queue_.rtt_seconds() + queue, to_seconds(now - round_began_));
    steps_.see_queue();
    const double answer = waits_for_room(target, queue) ? 0 : kAnswer;
    pace_ = rate_ * (1 + answer * std::max(-1.0, (target - queue) / time) + more_for_small_share());
  } else {
    const double more = loss_.recent() - loss_.own();
    const bool is_free = more < PathLoss::kMargin / 2 && queues_tell() && !round_.partly_limited;
    pace_ = steps_.next_pace(rate_, {more < PathLoss::kMargin / 4, is_free});
  }
  // What little waits where a queue was never seen are our own trains.
  if (!sees_queues()) return;
  const double boost =
      boost_.next({target, queue, queue_.round() - queue, std::max(round_seconds(), kLeastRound),
                   loss_.is_beyond_own(round_.loss())});
  if (boost > 0) pace_ = std::max(pace_, rate_ * (1 + boost));
}

// See Newcomer. On a short path the targets soon make all equal.
bool CongestionAuto::waits_for_room(double target, double queue) {
  const bool is_far_above = queue > std::max(kFarAbove * target, kFarAboveRtt * queue_.rtt_seconds());
  return is_far_above && !is_short_path() && newcomer_.waits(queue);
}

// On a shorter path the targets soon make all equal.
double CongestionAuto::more_for_small_share() { return is_long_path() ? small_share_.next(rate_) : 0; }

void CongestionAuto::enter(Time now, Phase phase) {
  if (phase_ == Phase::kStartup) small_share_.begin(start_up_.capacity());
  if (phase == Phase::kStartup) ended_by_few_losses_ = false;
  phase_ = phase;
  phase_began_ = now;
  drained_rate_ = rate_;
  if (phase != Phase::kLevel) queue_before_slower_ = queue_.round();
  rounds_in_phase_ = 0;
  steps_.stop();
  if (phase == Phase::kLevel) pace_ = rate_;
  went_down_ = went_down_ || phase == Phase::kDown;
}

// ---- others on the path ----

void CongestionAuto::judge_contest(Time now) {
  if (contest_.is_on()) {
    if (queue_.is_empty() && !round_.of_probe) {
      contest_.end();
      longer_path_.begin(loss_.own());
    }
    return;
  }
  if (phase_ != Phase::kLevel) return;
  // The measure is the target at the highest rate of late: one's own grows while one is driven out.
  const double target = fair_queue(peak_rate_.get()) * (is_in_doubt() ? kTargetInDoubt : 1);
  if (contest_.is_due_after(round_began_, now, queue_.is_crowded(target), window_now()))
    contest(contest_.window_to_begin_with(window_now()));
}

// Bytes: what fills the path and its queue with our part.
double CongestionAuto::window_now() const { return rate_ * (round_seconds() + queue_.round()); }

void CongestionAuto::contest(double window) {
  unqueued_cuts_ = 0;
  steps_.see_queue();
  contest_.begin(window);
  longer_path_.begin(loss_.own());
}

bool CongestionAuto::contest_trial_goes_on() {
  return contest_.trial_goes_on(rounds_in_phase_, queue_.round(), queue_.rtt_seconds());
}

// More loss than any path worth using has: whatever the model says, less is sent.
void CongestionAuto::trip_breaker() {
  lossy_rounds_ = round_.loss() > kBreakerLoss ? lossy_rounds_ + 1 : 0;
  if (lossy_rounds_ < kBreakerRounds) return;
  lossy_rounds_ = 0;
  on_silence({});
}

void CongestionAuto::on_silence(Time) {
  start_up_.give_up_trains();
  contest_.end();
  contest_.forget();
  unqueued_cuts_ = 0;
  settling_.forget();
  catch_up_ = {};
  steps_.see_queue();
  rate_ /= 2;
  pace_ /= 2;
}

}  // namespace mcdtp
