#include "common/core/loss.h"

#include <algorithm>

namespace mcdtp {
namespace {

constexpr Duration kMostLonger = seconds(1);
constexpr Duration kMostAtFirst = seconds(5);

// Between their sendings. REQUIRES: there are any, and all are known.
Duration span(const std::vector<PacketNumber>& numbers, SentPackets& sent) {
  const auto [first, last] = std::minmax_element(numbers.begin(), numbers.end());
  return sent.find(*last)->sent_at - sent.find(*first)->sent_at;
}

}  // namespace

std::optional<Duration> RttEstimator::sample(Duration trip, Duration held) const {
  if (held >= trip) return std::nullopt;
  return believed(trip - held);
}

Duration RttEstimator::believed(Duration time) const {
  return std::min<Duration>(time, has_sample_ ? 2 * smoothed_ + 4 * variation_ + kMostLonger : kMostAtFirst);
}

void RttEstimator::on_sample(Duration latest) {
  latest_ = latest;
  if (!has_sample_) {
    has_sample_ = true;
    min_ = smoothed_ = latest_;
    variation_ = latest_ / 2;
    return;
  }
  min_ = std::min(min_, latest_);
  const Duration deviation = smoothed_ > latest_ ? smoothed_ - latest_ : latest_ - smoothed_;
  variation_ = (3 * variation_ + deviation) / 4;
  smoothed_ = (7 * smoothed_ + latest_) / 8;
}

void Reordering::on_spurious(Time now, PacketNumber distance, Duration late, Duration rtt) {
  packets_ = std::clamp(distance + 1, packets_, kMaxPackets);
  allowance_ = std::max(allowance_, std::min(late, rtt));
  last_ = std::max(last_, now);
}

void Reordering::fade(Time now, Duration rtt) {
  if (now - last_ < kMemory * rtt) return;
  packets_ = std::max(kMinPackets, packets_ / 2);
  allowance_ /= 2;
  last_ = now;
}

void LossDetector::cover(Time arrived, PacketNumber number, SentPackets& sent, ReportNews& news) {
  SentPacket* packet = sent.find(number);
  if (packet == nullptr) return;
  if (packet->undecided()) {
    news.covered.push_back(number);
  } else if (packet->state == SentPacket::State::kLost) {
    const PacketNumber distance =
        largest_covered_.value_or(number) - std::min(number, largest_covered_.value_or(number));
    // What a silence was taken to have lost says nothing of the order.
    if (packet->overtaken)
      reordering_.on_spurious(arrived, distance, arrived - packet->sent_at - expected(), rtt_.smoothed());
    news.covered_late.push_back(number);
  }
  sent.resolve(*packet, SentPacket::State::kCovered);
}

bool LossDetector::on_report(Time now, Time arrived, const ReportFrame& report, SentPackets& sent,
                             ReportNews& news) {
  const PacketNumber largest = report.ranges.front().end - 1;
  if (largest >= sent.next()) return false;
  // Reports travel on two links: an older one may have waited on its way.
  const bool overtaken = report.sequence <= newest_sequence_;
  const bool follows = report.sequence == newest_sequence_ + 1;
  newest_sequence_ = std::max(report.sequence, newest_sequence_);
  const SentPacket* newest = overtaken ? nullptr : sent.find(largest);
  if (newest != nullptr && newest->state == SentPacket::State::kOutstanding) {
    news.rtt = rtt_.sample(arrived - newest->sent_at, report.delay);
    if (news.rtt) held_ = rtt_.believed(report.delay);
  }
  news.newer = !largest_covered_ || largest > *largest_covered_;
  largest_covered_ = std::max(largest, largest_covered_.value_or(0));
  for (const Range& range : report.ranges) {
    if (range.end <= sent.first()) break;
    for (const Range& fresh : covered_.missing(std::max(range.begin, sent.first()), range.end)) {
      for (PacketNumber n = fresh.begin; n < fresh.end; ++n) cover(arrived, n, sent, news);
      covered_.add(fresh.begin, fresh.end);
    }
  }
  covered_.remove_below(sent.first());
  if (follows && !news.covered.empty()) news.covered_span = span(news.covered, sent);
  if (news.rtt) rtt_.on_sample(*news.rtt);
  if (!news.covered.empty() || !news.covered_late.empty()) {
    backoff_ = probes_unanswered_ = 0;
    waiting_since_ = now;
  }
  return true;
}

Duration LossDetector::time_threshold(Duration report_delay) const {
  const Duration held = std::max(report_delay, held_);
  return std::max<Duration>(expected() + expected() / 8 + reordering_.allowance() + held, milliseconds(1));
}

std::vector<PacketNumber> LossDetector::detect_lost(Time now, Time known_at, Duration report_delay,
                                                    SentPackets& sent) {
  std::vector<PacketNumber> lost;
  loss_timer_ = kNever;
  if (!largest_covered_) return lost;
  reordering_.fade(known_at, rtt_.smoothed());
  const Duration threshold = time_threshold(report_delay);
  for (PacketNumber n = sent.oldest_outstanding(); n < *largest_covered_; n = sent.oldest_outstanding()) {
    SentPacket& packet = *sent.find(n);
    const Time lost_by_time = packet.sent_at + threshold;
    if (*largest_covered_ - n < reordering_.packets() && lost_by_time > known_at) {
      loss_timer_ = lost_by_time;
      break;
    }
    packet.lost_at = now;
    packet.overtaken = true;
    sent.resolve(packet, SentPacket::State::kLost);
    lost.push_back(n);
  }
  return lost;
}

Time LossDetector::probe_timer(const SentPackets& sent, Duration report_delay) const {
  if (sent.packets_outstanding() == 0) return kNever;
  const Duration base =
      rtt_.smoothed() + std::max<Duration>(4 * rtt_.variation(), milliseconds(1)) + report_delay;
  return waiting_since_ + base * (1 << backoff_);
}

}  // namespace mcdtp
