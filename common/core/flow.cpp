#include "common/core/flow.h"

#include <algorithm>
#include <utility>

#include "common/core/check.h"

namespace mcdtp {

Flow::Flow(Time now, std::unique_ptr<CongestionController> congestion) : congestion_(std::move(congestion)) {
  CHECK(congestion_);
  set_pace(now);
}

void Flow::set_pace(Time now) {
  pacer_.set_rate(now, congestion_->pacing_rate());
  // A train has two datagrams at least.
  pacer_.set_quantum(std::max(congestion_->quantum(rtt_), 2 * static_cast<double>(datagram_size_)));
  pacer_.set_rtt(rtt_, congestion_->catch_up(rtt_));
  if (!has_room()) pacer_.stop_waiting();
}

DeliverySnapshot Flow::on_sent(Time now, std::size_t size) {
  if (pacer_.take_missed()) delivery_.on_host_limited();
  DeliverySnapshot snapshot = delivery_.on_sent(now, size, in_flight_);
  snapshot.quiet = congestion_->quiet(now);
  return snapshot;
}

void Flow::on_counted(std::size_t size, double weight) {
  add_in_flight(size, weight);
  pacer_.on_sent(size);
  if (!has_room()) pacer_.stop_waiting();
}

void Flow::add_in_flight(std::uint64_t bytes, double weight) {
  in_flight_ += static_cast<std::uint64_t>(weight * static_cast<double>(bytes));
}

// While the window is full the application is not what limits.
void Flow::on_application_limited() {
  pacer_.stop_waiting();
  if (has_room()) delivery_.on_application_limited();
}

void Flow::take_rate(const SentPacket& newest, ReportSample& sample) {
  const DeliveryRate::Sample rate = delivery_.on_arrived(newest, *sample.rtt);
  sample.newest_covered = rate.newest.sent;
  sample.newest_sent_at = rate.newest.sent_at;
  sample.newest_arrived_at = rate.newest.arrived_at;
  sample.train = newest.snapshot.train;
  sample.rate = rate.rate;
  sample.rate_loss = rate.loss;
  sample.application_limited = rate.application_limited;
  sample.host_limited = rate.host_limited;
}

void Flow::on_report(ReportSample& sample) {
  sample.in_flight = in_flight_;
  sample.sent = delivery_.sent();
  congestion_->on_report(sample);
  datagram_size_ = sample.datagram_size;
  rtt_ = std::min(sample.min_rtt, rtt_ + rtt_ / 64);
  set_pace(sample.now);
}

void Flow::on_early(Time now) {
  congestion_->on_early();
  set_pace(now);
}

void Flow::on_silence(Time now) {
  congestion_->on_silence(now);
  set_pace(now);
}

}  // namespace mcdtp
