#include "common/core/link_trial.h"

#include <algorithm>

#include "common/core/capacity.h"
#include "common/core/receipts.h"

namespace mcdtp {
namespace {

constexpr Duration kLeastTrial = seconds(1);
constexpr Duration kLeastPause = seconds(2);
constexpr int kRoundTrips = 16;  // in either, at least
constexpr int kPatientRoundTrips = 8;
// The trial's window: of what goes by UDP in an RTT.
constexpr double kMostWindow = 2;

}  // namespace

void LinkTrial::on_datagrams(Time now, std::uint64_t arrived, bool busy, Duration base) {
  base_ = base;
  if (busy && was_busy_) {
    passed_ += now - reported_;
    count(arrived);
  }
  was_busy_ = busy;
  reported_ = now;
  if (passed_ >= length_) judge();
}

void LinkTrial::on_link(std::uint64_t arrived, std::optional<Duration> rtt) {
  if (was_busy_) count(arrived);
  if (!tries()) return;
  if (rtt && *rtt > base_ + slack()) return fail();
  widen(arrived);
}

void LinkTrial::on_waiting(Duration age) {
  if (tries() && age > 2 * base_ + slack() + Receipts::kMaxInterval) fail();
  if (helps() && age > std::max<Duration>(kPatience, kPatientRoundTrips * base_)) fail();
}

void LinkTrial::forget() {
  if (carries()) return fail();
  begin(Phase::kResting);
}

void LinkTrial::begin(Phase phase) {
  phase_ = phase;
  length_ = length_of(phase);
  passed_ = {};
  was_busy_ = false;
  arrived_ = of_window_ = 0;
  const double record =
      std::clamp(rate_ * kRecordTime, static_cast<double>(kLeastRecord), static_cast<double>(kMostRecord));
  window_ = record_ = static_cast<std::uint64_t>(record);
}

Duration LinkTrial::length_of(Phase phase) const {
  switch (phase) {
    case Phase::kResting: return wait_;
    case Phase::kTrying: return std::max<Duration>(kLeastTrial, kRoundTrips * base_);
    case Phase::kHelping: return kHelp;
    case Phase::kPausing: break;
  }
  return std::max<Duration>(kLeastPause, kRoundTrips * base_);
}

void LinkTrial::count(std::uint64_t arrived) {
  if (passed_ >= length_ / 2) arrived_ += arrived;
}

void LinkTrial::judge() {
  const double before = rate_;
  rate_ = static_cast<double>(arrived_) / to_seconds(passed_ - length_ / 2);
  switch (phase_) {
    case Phase::kResting: return begin(rate_ > 0 ? Phase::kTrying : Phase::kResting);
    case Phase::kTrying: return rate_ >= kGain * before ? begin(Phase::kHelping) : fail();
    case Phase::kHelping: return begin(Phase::kPausing);
    case Phase::kPausing: return kGain * rate_ <= before ? begin(Phase::kHelping) : fail();
  }
}

void LinkTrial::fail() {
  wait_ = std::min<Duration>(2 * wait_, kMostWait);
  begin(Phase::kResting);
}

// Once in a round trip: as many records as may be out have arrived.
void LinkTrial::widen(std::uint64_t arrived) {
  of_window_ += arrived;
  if (of_window_ < window_ / record_ * record_) return;
  of_window_ = 0;
  const auto most = static_cast<std::uint64_t>(kMostWindow * rate_ * to_seconds(base_));
  window_ = std::max(window_, std::min(window_ * 3 / 2, most));
}

// What goes at a time drains at twice the rate of the datagrams, or faster.
Duration LinkTrial::slack() const {
  const Duration drain = from_seconds(static_cast<double>(window_) / (2 * rate_));
  return std::max(Capacity::least_queue(base_), drain);
}

}  // namespace mcdtp
