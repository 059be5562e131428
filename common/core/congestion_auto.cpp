#include "common/core/congestion_auto.h"

#include <algorithm>
#include <utility>

namespace mcdtp {
namespace {

// A rate is known a round trip late and is a mean over one: a pace of g x rate grows by e^a a round trip,
// where a = g (e^-a - e^-2a): 2.6 for g = 4. The window holds back what overshoots.
constexpr double kStartupGain = 4;
constexpr double kStartupGrowth = 1.25;
constexpr int kFlatRounds = 3;
constexpr double kManyLost = 20 * 1200;  // bytes: fewer may be chance
constexpr double kDrainGain = 0.5;
constexpr int kMaxDrainRounds = 4;
// A little more than the first stake, so that what queue is left shrinks from cycle to cycle.
constexpr double kDownGain = 0.7;
constexpr int kLevelRounds = 6;
constexpr double kWindowGain = 2;
constexpr double kStartupWindowGain = 2.77;
// A queue is what makes the RTT longer by more than this share of it, and by more than the hosts could.
constexpr int kQueueShare = 16;

constexpr double kMinRate = kMinWindow;  // bytes/s
constexpr double kMaxRate = 1e11;        // bytes/s
constexpr Duration kUnknownRtt = milliseconds(100);
constexpr Duration kMinQueue = milliseconds(2);
constexpr double kQuietMemory = 1.2e6;  // bytes of quiet packets that p0 rests on
constexpr double kStaysBelow = 0.97;
constexpr double kBreakerLoss = 0.3;
constexpr int kBreakerRounds = 3;

}  // namespace

// ---- what it decides ----

double CongestionAuto::pacing_rate() const {
  const bool knows_nothing = phase_ == Phase::kStartup && rounds_ < 2;
  return std::max({kMinRate, gain() * rate(), knows_nothing ? initial_rate() : 0.0});
}

// The initial window in half a round trip: a faster train could queue, and a queue ends the start-up.
double CongestionAuto::initial_rate() const {
  const Duration round_trip =
      min_rtt() == kNone ? kUnknownRtt : std::max<Duration>(min_rtt(), milliseconds(1));
  return 2 * static_cast<double>(kInitialWindow) / to_seconds(round_trip);
}

std::uint64_t CongestionAuto::window() const {
  const double bytes =
      (phase_ == Phase::kStartup ? kStartupWindowGain : kWindowGain) * rate() * round_seconds();
  return std::max(phase_ == Phase::kStartup ? kInitialWindow : kMinWindow, static_cast<std::uint64_t>(bytes));
}

double CongestionAuto::gain() const {
  switch (phase_) {
    case Phase::kStartup: return kStartupGain;
    case Phase::kDrain: return kDrainGain;
    case Phase::kUp: return 1 + stake_;
    case Phase::kDown: return kDownGain;
    case Phase::kLevel: break;
  }
  return 1;
}

double CongestionAuto::rate() const { return *std::max_element(rates_.begin(), rates_.end()); }

double CongestionAuto::path_loss() const {
  const double total = quiet_covered_ + quiet_lost_;
  return total > 0 ? std::min(kMaxPathLoss, quiet_lost_ / total) : 0;
}

double CongestionAuto::rate_of(const ReportSample& sample) const {
  const double kept = std::min(1.0, (1 - sample.rate_loss) / (1 - path_loss() - kLossMargin));
  return std::min(kMaxRate, sample.rate * kept);
}

double CongestionAuto::round_seconds() const {
  return to_seconds((min_rtt() == kNone ? kUnknownRtt : min_rtt()) + report_interval_);
}

bool CongestionAuto::is_queue(Duration rtt) const {
  return rtt != kNone && rtt - min_rtt() > std::max<Duration>(min_rtt() / kQueueShare, kMinQueue);
}

// A train of probes queues for a moment: what lasts no longer than half the wait for a report is none.
bool CongestionAuto::queue_lasts(Time now) const {
  return queue_since_ && now - *queue_since_ >= report_interval_ / 2;
}

// ---- what it learns ----

void CongestionAuto::on_report(const ReportSample& sample) {
  report_interval_ = sample.report_interval;
  if (sample.rtt) note_rtt(sample.now, *sample.rtt);
  note_quiet(sample);
  round_.covered += static_cast<double>(sample.covered);
  round_.lost =
      std::max(0.0, round_.lost + static_cast<double>(sample.lost) - static_cast<double>(sample.found));
  const double taken = rate_of(sample);
  if (taken > 0 && (!sample.application_limited || taken > rate())) {
    round_.limited = false;
    round_.rate = std::max(round_.rate, taken);
    double& kept = rates_[rounds_ % kRateRounds];
    kept = std::max(kept, taken);
  }
  if (phase_ == Phase::kStartup && queue_lasts(sample.now)) enter(Phase::kDrain);
  const bool drained = static_cast<double>(sample.in_flight) <= rate() * round_seconds();
  if (phase_ == Phase::kDrain && drained) end_drain();
  if (sample.newest_covered >= round_ends_at_) end_round(sample);
}

void CongestionAuto::note_rtt(Time now, Duration rtt) {
  if (now - half_life_began_ > kMinRttLife / 2) {
    min_rtt_ = {kNone, min_rtt_[0]};
    half_life_began_ = now;
  }
  min_rtt_[0] = std::min(min_rtt_[0], rtt);
  round_.rtt = std::min(round_.rtt, rtt);
  if (!is_queue(rtt)) {
    queue_since_.reset();
  } else if (!queue_since_) {
    queue_since_ = now;
  }
}

void CongestionAuto::note_quiet(const ReportSample& sample) {
  if (sample.quiet_covered + sample.quiet_lost + sample.quiet_found == 0) return;
  quiet_covered_ += static_cast<double>(sample.quiet_covered);
  quiet_lost_ += static_cast<double>(sample.quiet_lost) - static_cast<double>(sample.quiet_found);
  quiet_lost_ = std::max(0.0, quiet_lost_);
  const double fade = std::min(1.0, kQuietMemory / std::max(1.0, quiet_covered_ + quiet_lost_));
  quiet_covered_ *= fade;
  quiet_lost_ *= fade;
}

void CongestionAuto::end_round(const ReportSample& sample) {
  round_ends_at_ = sample.sent + 1;
  const bool queue_stands = is_queue(round_.rtt);
  loss_ += (round_.loss() - loss_) / 4;
  trip_breaker();
  if (!round_.limited) {
    const bool congested = loss_ > path_loss() + kLossMargin && round_.rate < kStaysBelow * rate();
    if (phase_ != Phase::kStartup && (queue_stands || congested)) forget_older();
    choose_phase(queue_stands, round_.rate);
    rates_[++rounds_ % kRateRounds] = 0;
  }
  round_ = {};
}

void CongestionAuto::choose_phase(bool queue_stands, double rate_now) {
  ++rounds_in_phase_;
  switch (phase_) {
    case Phase::kStartup: return judge_startup(rate_now);
    case Phase::kDrain: return rounds_in_phase_ >= kMaxDrainRounds ? end_drain() : void();
    case Phase::kUp: return enter(Phase::kDown);
    case Phase::kDown: return judge_probe(queue_stands);
    case Phase::kLevel: break;
  }
  if (rounds_in_phase_ >= kLevelRounds) {
    full_rate_ = rate();
    return enter(Phase::kUp);
  }
  if (queue_stands && !std::exchange(drained_, true)) enter(Phase::kDown);
}

void CongestionAuto::judge_startup(double rate_now) {
  if (rate_now >= full_rate_ * kStartupGrowth) {
    full_rate_ = rate_now;
    flat_rounds_ = 0;
    return;
  }
  const bool overflows = round_.lost > kManyLost && round_.loss() > loss_ + 0.1;
  if (++flat_rounds_ >= kFlatRounds || overflows) enter(Phase::kDrain);
}

// The first probe comes soon: a train of its own may have ended the start-up before its time.
void CongestionAuto::end_drain() {
  enter(Phase::kLevel);
  rounds_in_phase_ = kLevelRounds - 2;
}

// The rates seen while kDown was sent are those of kUp.
void CongestionAuto::judge_probe(bool queue_stands) {
  const bool paid = !queue_stands && full_rate_ > 0 && rate() > full_rate_ * (1 + stake_ / 2);
  stake_ = paid ? std::min(2 * stake_, kStartupGain - 1) : kFirstStake;
  full_rate_ = rate();
  enter(paid ? Phase::kUp : Phase::kLevel);
}

void CongestionAuto::enter(Phase phase) {
  if (phase == Phase::kUp) drained_ = false;
  phase_ = phase;
  rounds_in_phase_ = 0;
}

// More loss than any path worth using has: whatever the model says, less is sent.
void CongestionAuto::trip_breaker() {
  lossy_rounds_ = round_.loss() > kBreakerLoss ? lossy_rounds_ + 1 : 0;
  if (lossy_rounds_ < kBreakerRounds) return;
  lossy_rounds_ = 0;
  on_silence({});
}

// All but this round and the one before.
void CongestionAuto::forget_older() {
  for (std::size_t age = 2; age < kRateRounds; ++age) rates_[(rounds_ + kRateRounds - age) % kRateRounds] = 0;
}

void CongestionAuto::on_silence(Time) {
  for (double& rate : rates_) rate /= 2;
}

}  // namespace mcdtp
