#include <algorithm>

#include "common/core/congestion/congestion_auto.h"

// What the controller learns of the path: from reports, and at the end of each round.
namespace mcdtp {
namespace {

constexpr double kFewLost = 4 * 1200;  // bytes: by chance; a queue too short for a train drops more of it
constexpr int kMaxDoubt = 12;
constexpr int kFailedProof = 1;
constexpr int kProof = 3;

constexpr double kBelied = 0.9;     // of p0 is left by a round
constexpr double kDisputed = 0.98;  // likewise

constexpr double kMaxRate = 1e11;      // bytes/s
constexpr double kLeastSample = 24e3;  // bytes
constexpr double kMaxRound = 4;
constexpr double kFullSample = 72e3;    // bytes
constexpr double kLeastArrivals = 6e3;  // bytes
// In less, reports that come close together say too much.
constexpr double kLeastArrivalSpan = 0.004;   // s, and
constexpr double kLeastArrivalShare = 0.125;  // of the RTT
constexpr double kMostApart = 1.2;            // times
constexpr double kMostBelieved = 1.05;        // of what was sent and not lost
constexpr double kChance = 0.08;              // of what was sent
constexpr double kShortPath = 0.04;           // s: hosts and radios change a shorter RTT as much as queues do

}  // namespace

void CongestionAuto::on_report(const ReportSample& sample) {
  report_interval_ = sample.report_interval;
  if (sample.rtt) queue_.on_rtt(sample.now, *sample.rtt, sample.rtt_variation);
  start_up_.on_report(sample, queue_);
  note_rate(sample);
  if (phase_ == Phase::kStartup) note_train(sample);
  if (contest_.is_on() && phase_ == Phase::kLevel) follow_tcp(sample);
  // A queue that shows while little is sent is none of ours.
  const bool fills =
      phase_ == Phase::kStartup && !round_.partly_limited && !start_up_.queues_by_itself(sample);
  const bool grows = fills || (phase_ == Phase::kLevel && steps_.is_large());
  if (grows && sample.rtt && queue_.has_grown_for(sample.now, report_interval_ / 2)) {
    queue_.keep_longest();
    steps_.see_queue();
    enter(sample.now, Phase::kDrain);
  }
  if (phase_ == Phase::kDrain) rate_ = std::max(drained_rate_, rate_of_arrivals(sample));
  const bool drained = static_cast<double>(sample.in_flight) <= rate_ * round_seconds();
  if (phase_ == Phase::kDrain && drained) end_drain(sample.now);
  phase_ == Phase::kProbeRtt ? end_probe_in_time(sample.now) : begin_probe_in_time(sample.now);
  if (is_round_over(sample)) end_round(sample);
}

// How fast packets of this round have come one behind the other: out of the queue that ended the start-up as fast as the
// path can do, while the rate measured until then has the silence before the round in it. Bytes/s; 0: too few.
double CongestionAuto::rate_of_arrivals(const ReportSample& sample) const {
  if (round_.first.sent == 0 || sample.newest_covered <= round_.first.sent) return 0;
  const double bytes = std::min(round_.covered - round_.first_covered,
                                static_cast<double>(sample.newest_covered - round_.first.sent));
  const Duration span = std::max(sample.newest_sent_at - round_.first.sent_at,
                                 sample.newest_arrived_at - round_.first.arrived_at);
  const double least = std::max(kLeastArrivalSpan, kLeastArrivalShare * queue_.rtt_seconds());
  if (bytes < kLeastArrivals || to_seconds(span) < least) return 0;
  return std::min(kMaxRate, bytes / to_seconds(span));
}

// When a packet sent after its beginning is covered; but chance decides what few packets say, and hosts what a moment says.
// And each channel has its say: a later one may carry most, while all of the queue is on the quickest.
bool CongestionAuto::is_round_over(const ReportSample& sample) const {
  const bool is_over = sample.newest_covered >= round_ends_at_;
  if (phase_ == Phase::kStartup)
    return is_over || (is_overflowing_by_far() && sample.newest_covered > covered_before_);
  if (!is_over) return false;
  if (sample.now - round_began_ < sample.latest_by) return false;
  const double took = to_seconds(sample.now - round_began_);
  return took >= kLeastRound &&
         (round_.covered + round_.lost >= kLeastSample || took >= kMaxRound * round_seconds());
}

void CongestionAuto::note_train(const ReportSample& sample) {
  start_up_.tell_time(sample.now);
  if (start_up_.sends_trains()) {
    start_up_.note_train(sample);
    const bool is_train = static_cast<double>(sample.train) > kFewLost;
    round_.breaks_trains = is_train && round_.lost > kFewLost && round_.loss() > kOverflow;
  }
  if (is_overflowing() || round_.breaks_trains) start_up_.give_up_trains();
}

// In start-up each sample counts at once; later the round does.
void CongestionAuto::note_rate(const ReportSample& sample) {
  round_.covered += static_cast<double>(sample.covered);
  round_.lost += static_cast<double>(sample.lost) - static_cast<double>(sample.found);
  round_.lost = std::max(0.0, round_.lost);
  round_.covered_span = std::max(round_.covered_span, sample.covered_span);
  round_.quiet += static_cast<double>(sample.quiet_covered);
  round_.quiet_lost += static_cast<double>(sample.quiet_lost) - static_cast<double>(sample.quiet_found);
  // Between this round's marks lies a silence.
  round_.host_limited = round_.host_limited || sample.host_limited;
  round_.partly_limited =
      round_.partly_limited || was_idle_ || sample.application_limited || sample.host_limited;
  was_idle_ = sample.in_flight == 0;
  if (round_.first.sent == 0 && sample.rtt) {
    round_.first = {sample.newest_covered, sample.newest_sent_at, sample.newest_arrived_at};
    round_.first_covered = round_.covered;
  }
  if (sample.rate <= 0) return;
  const double taken = std::min(kMaxRate, sample.rate * loss_.kept_share(sample.rate_loss));
  if (sample.application_limited && taken <= rate_) return;
  round_.limited = false;
  if (phase_ == Phase::kStartup) rate_ = std::max(rate_, taken);
}

// What the path loses by itself is none of TCP's business, and it gives way to the same losses once.
void CongestionAuto::follow_tcp(const ReportSample& sample) {
  ReportSample seen = sample;
  const bool is_clean = loss_.own() < PathLoss::kMargin / 4;
  if (!(is_clean && may_overflow()) && !loss_.is_congested(may_overflow())) seen.newest_lost = 0;
  if (contest_.on_report_cuts(seen)) loss_.on_cut();
}

void CongestionAuto::end_round(const ReportSample& sample) {
  round_.sent = static_cast<double>(sample.newest_covered - covered_before_);
  round_ends_at_ = sample.sent + 1;
  round_.of_probe = phase_ == Phase::kProbeRtt || rtt_probe_.is_between(sent_before_, sample.newest_sent_at);
  if (sees_queues()) steps_.forget_ceiling();
  if (overfilled_buffer()) queue_.note_overflow();
  if (round_.host_limited && phase_ != Phase::kStartup) note_catch_up(sample.now);
  measure_path();
  look_whether_queue_fell();
  settling_.on_round(is_queued(), round_took(sample.now), is_short_path(), queue_.is_longest());
  trip_breaker();
  round_.limited ? pass_limited_round() : learn_from_round(sample);
  begin_round(sample);
}

void CongestionAuto::learn_from_round(const ReportSample& sample) {
  ++rounds_in_phase_;
  if (round_.covered + round_.lost >= kLeastSample) start_up_.on_full_round();
  if (phase_ != Phase::kStartup) {
    const bool is_alone = queue_is_ours();
    newcomer_.on_round(is_alone);
    if (is_alone) small_share_.end();
    learn_rate(sample);
  }
  loss_.on_round(round_.covered, round_.lost);
  const bool left_as_was = round_.is_slower() && !queue_fell();
  const bool queued = contest_.is_on() || is_queued();
  rtt_probe_.on_round(sample.now,
                      {queue_.is_at_floor(), left_as_was, queued, loss_.lately(), queue_.rtt_seconds()});
  peak_rate_.tell_time(sample.now);
  peak_rate_.note(rate_);
  look_whether_queue_moves();
  if (contest_.is_on() && may_overflow()) fade_own_loss();
  judge_contest(sample.now);
  choose_phase(sample.now);
}

// The application had too little to send: that shows nothing of the path.
void CongestionAuto::pass_limited_round() {
  contest_.forget();
  rtt_probe_.on_limited_round();
}

void CongestionAuto::begin_round(const ReportSample& sample) {
  drained_rate_ = rate_;
  round_began_ = sample.now;
  covered_before_ = sample.newest_covered;
  sent_before_ = sample.newest_sent_at;
  arrived_before_ = sample.newest_arrived_at;
  queue_.end_round();
  span_before_ = round_.covered_span;
  round_ = {};
}

// More is lost than the path loses by itself, and than chance takes, while the queue is about as long as ever. Only on a
// short path: on a longer one an RTT that wanders looks like that where the path loses as well, and there the target is
// short beside most buffers anyway.
bool CongestionAuto::overfilled_buffer() const {
  if (!is_short_path() || !queue_.may_fill_buffer() || loss_.own_is_vague()) return false;
  return loss_.is_beyond_own((round_.lost - kFewLost) / (round_.covered + round_.lost));
}

void CongestionAuto::note_catch_up(Time now) {
  if (round_.covered + round_.lost < kLeastSample) return;
  const double lost = (round_.lost - kFewLost) / (round_.covered + round_.lost);
  catch_up_.on_round_that_missed(now, usual_catch_up(queue_.min_rtt()), loss_.is_beyond_own(lost));
}

// Fast by rounds that lose far less than the path is said to, or are too small to tell.
void CongestionAuto::fade_own_loss() {
  const bool is_belied = weight_of_round() < 1 || round_.loss() < loss_.own() / 2;
  loss_.fade_own(is_belied ? kBelied : kDisputed);
}

void CongestionAuto::measure_path() {
  if (queue_.found_shorter()) loss_.forget_own();
  if (round_.quiet == 0) return note_late_quiet_losses();
  learns_from_quiet_ = false;
  if (went_down_) loss_.on_any_quiet(round_.quiet, round_.quiet_lost);
  if (round_.is_quiet()) quiet_was_kept_ = round_.quiet_lost < PathLoss::kMargin * round_.quiet;
  if (!found_room()) {
    // Half of a round that was not quiet shows the queue of the other half.
    const bool is_proof = !round_.limited && round_.is_quiet();
    doubt_ = std::min(doubt_ + (is_proof ? kFailedProof : 0), kMaxDoubt);
    return;
  }
  doubt_ = std::max(0, doubt_ - kProof);
  learns_from_quiet_ = !is_in_doubt();
  if (learns_from_quiet_) loss_.on_quiet(round_.quiet, round_.quiet_lost);
}

// Packets are declared lost when later ones have come: some that were sent in a short round when all that came of it is
// counted.
void CongestionAuto::note_late_quiet_losses() {
  if (went_down_) loss_.on_any_quiet(0, round_.quiet_lost);
  if (learns_from_quiet_) loss_.on_quiet(0, round_.quiet_lost);
}

// What was sent quietly met a short queue, as far as the RTT tells. Where no queue was ever seen it tells if it is calm;
// but hardly of what the start-up left.
bool CongestionAuto::found_room() const {
  if (queue_.found_shorter() || !queue_.is_short()) return false;
  return sees_queues() || (went_down_ && queue_.is_calm());
}

// Between the arrivals of the round's marks.
Duration CongestionAuto::arrival_span(const ReportSample& sample) const {
  return std::max<Duration>(sample.newest_arrived_at - arrived_before_, milliseconds(1));
}

// What the round says of the path, in bytes/s.
double CongestionAuto::rate_of_round(const ReportSample& sample) const {
  const Duration arrival = arrival_span(sample);
  // Out of a queue comes what the path can do, however it was sent.
  if (settling_.is_over()) return std::min(kMaxRate, round_taken() / to_seconds(arrival));
  const Duration sent_in = std::max<Duration>(sample.newest_sent_at - sent_before_, milliseconds(1));
  const double seen = round_taken() / to_seconds(std::max(arrival, sent_in));
  return std::min({kMaxRate, seen, most_of_round(to_seconds(sent_in))});
}

// Nothing comes faster than it was sent, in bytes/s. On a short path a round is over in the time that
// reports are apart: what several channels report at once may be twice what was sent between its marks, and
// no step has paid with that. `sent_in`: seconds between these.
double CongestionAuto::most_of_round(double sent_in) const {
  return is_short_path() ? kMostApart * round_.sent / sent_in : kMaxRate;
}

// What was covered in a round depends on when the channels happened to report. What was sent between its marks and not
// lost does not, but counts what still waits on slower channels, and losses of other rounds: both are alike. Without a
// queue the larger may be believed: who does not know all of p0 yet would see steps that pay as steps that do not.
double CongestionAuto::round_taken() const {
  if (reports_wait()) return round_.kept() / (1 - loss_of_round());
  const double sent = std::clamp(round_.kept(), round_.covered / kMostApart, round_.covered * kMostApart);
  const double most = settling_.is_over() || steps_.is_near_ceiling(rate_) ? sent : kMostBelieved * sent;
  return std::clamp(round_.covered, sent, most) / (1 - loss_of_round());
}

// What the path has lost of a round. Chance takes more of it in one and less in another, and more so in bursts; what was
// sent and lost has taken the path's time all the same. Not beyond what chance explains, and where the buffer may overflow
// what is known of the path counts.
double CongestionAuto::loss_of_round() const {
  const double own = loss_.own();
  if (may_overflow() || contest_.is_on()) return own;
  const double less = std::min(own, kChance);
  return std::clamp(round_.loss(), own - less,
                    own + std::min(less, settling_.is_over() ? kChance : PathLoss::kMargin));
}

// A round of few packets says little: chance takes more or fewer of them.
double CongestionAuto::weight_of_round() const {
  return std::min(1.0, (round_.covered + round_.lost) / kFullSample);
}

// In seconds. What a host misses while it stands still is no part of it.
double CongestionAuto::round_took(Time now) const {
  return std::min(to_seconds(now - round_began_), std::max(kLeastRound, kMaxRound * round_seconds()));
}

bool CongestionAuto::is_short_path() const { return queue_.rtt_seconds() < kShortPath; }

bool CongestionAuto::is_long_path() const { return queue_.rtt_seconds() >= to_seconds(kLongRtt); }

void CongestionAuto::learn_rate(const ReportSample& sample) {
  const double weight = std::min(weight_of_round(), settling_.part_of_round());
  const double smooth = rate_ + weight * (rate_of_round(sample) - rate_);
  const bool is_known = (settling_.is_over() || steps_.is_near_ceiling(rate_)) && !round_.is_held_back();
  if (is_queued()) {
    steps_.end_rest();
    unqueued_cuts_ = 0;
  }
  if (!steps_.rests()) rate_ = is_known ? smooth : std::max(rate_, smooth);
  steps_.on_round(weight);
  if (phase_ != Phase::kLevel || !loss_.is_congested(may_overflow() || !sees_queues())) return;
  // A queue that others keep full stands. What only passes, as where the delay of a short path wanders, is none of theirs.
  const bool stands = is_short_path() ? settling_.is_over() : !queue_.is_empty();
  const bool may_be_theirs = is_in_doubt() && sees_queues() && stands;
  if (may_be_theirs && !contest_.is_on()) return contest(window_now());
  // Loss without a queue: a policer, or a queue too short to be seen. And a queue that others keep full.
  const bool may_be_ours = !is_queued() || (!contest_.is_on() && (!settling_.is_over() || queue_.is_full()));
  if (may_be_ours) give_way(sample);
}

}  // namespace mcdtp
