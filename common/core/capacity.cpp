#include "common/core/capacity.h"

#include <utility>

namespace mcdtp {

void Capacity::on_report(const Sample& sample) {
  report_interval_ = sample.report_interval;
  if (sample.rtt) note_rtt(sample.now, *sample.rtt);
  note_rate(sample);
  if (queue_stands_) {
    if (rate() > 0) window_ = static_cast<std::uint64_t>(kQueueGain * rate() * to_seconds(round()));
  } else if (2 * sample.in_flight >= window()) {
    window_ = window() + sample.arrived;
  }
}

void Capacity::note_rtt(Time now, Duration rtt) {
  min_rtt_.tell_time(now);
  min_rtt_.note(rtt);
  // One late report is no queue.
  const Duration smaller = std::min(rtt, std::exchange(last_rtt_, rtt));
  queue_stands_ = smaller - min_rtt() > least_queue(min_rtt());
}

void Capacity::on_first_sent(Time now) {
  round_began_ = now;
  round_arrived_ = 0;
}

// Arrivals are counted over whole rounds: reports come in clusters.
void Capacity::note_rate(const Sample& sample) {
  if (sample.in_flight == 0) return;
  round_arrived_ += sample.arrived;
  const Duration passed = sample.now - round_began_;
  const bool drained = sample.arrived == sample.in_flight;
  if (!has_rtt() || passed < (drained ? min_rtt() : round())) return;
  rates_[rounds_++ % rates_.size()] = static_cast<double>(round_arrived_) / to_seconds(passed);
  on_first_sent(sample.now);
}

Duration Capacity::expected_rtt(std::uint64_t in_flight) const {
  // A few packets say nothing of a queue, nor a rate that was never tried.
  if (in_flight <= kMinWindow || rate() <= 0) return min_rtt();
  return std::max(min_rtt(), from_seconds(static_cast<double>(in_flight) / rate()));
}

std::uint64_t Capacity::window() const {
  if (window_ > 0) return std::max(kMinWindow, window_);
  return std::max(kMinWindow, static_cast<std::uint64_t>(weight_ * static_cast<double>(kFirstWindow)));
}

}  // namespace mcdtp
