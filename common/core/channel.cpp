#include "common/core/channel.h"

#include <algorithm>
#include <utility>

namespace mcdtp {

bool Channel::on_covered(Time now, const SentPacket& packet) {
  if (datagram_) {
    const bool before = proved();
    const Paths::Proof proof = paths.on_covered(packet.path, packet.size >= PathMtu::kBase);
    if (proof == Paths::Proof::kActive) mtu.restart();
    if (proof == Paths::Proof::kReachable) probe_soon(now);
    if (paths.unproved().empty()) next_probe_ = kNever;
    return proved() && !before;
  }
  return !std::exchange(stream_proved_, true);
}

void Channel::probe_soon(Time now) {
  next_probe_ = now;
  probe_interval_ = kFirstProbeInterval;
}

// It may have slept, and next_probe_ be far away by now.
void Channel::on_heard(Time now) {
  if (proved() || hurried_where_heard_ + kProbeWithReason > now) return;
  hurried_where_heard_ = now;
  hurry_probe(now);
}

void Channel::hurry_probe(Time now) {
  if (!proved() && next_probe_ < kNever) next_probe_ = std::min(next_probe_, now);
}

bool Channel::on_timeout(Time now) {
  if (next_probe_ <= now) {
    if (!proved()) give_up_old_probes(now);
    const auto unproved = paths.unproved();
    to_probe_.assign(unproved.begin(), unproved.end());
    next_probe_ = unproved.empty() ? kNever : now + probe_interval_;
    probe_interval_ = std::min(2 * probe_interval_, kMaxProbeInterval);
  }
  if (!datagram_ || !proved()) return false;
  // While something is outstanding the probe time-out asks, and a PING between would put it off for ever.
  if (sent.packets_outstanding() == 0) keep_alive(now);
  if (probe_timeout() > now) return false;
  loss.on_probe_timeout();
  asked_at_ = now;
  return ping_due_ = true;
}

Time Channel::next_timeout() const {
  Time next = next_probe_;
  if (!datagram_ || !proved()) return next;
  if (sent.packets_outstanding() > 0) {
    next = std::min(next, probe_timeout());
  } else if (!ping_due_) {
    next = std::min(next, last_sent_ + kKeepalive);
  }
  return std::min(next, loss.loss_timer());
}

// Where the PING of the one before could not leave yet, nothing can have answered it.
Time Channel::probe_timeout() const {
  const Time usual = loss.probe_timer(sent, longest_report_delay());
  return ping_due_ ? std::max(usual, asked_at_ + kUnsentPatience) : usual;
}

// The kernel of whoever stands between may take what comes, and go on saying so, for ever.
Time Channel::silence_timer(Time any_reported) const {
  if (!is_link() || sent.packets_outstanding() == 0) return kNever;
  const Time since = loss.waiting_since();
  const Duration soon =
      std::clamp<Duration>(4 * loss.rtt().smoothed(), kLinkPatienceAmongOthers, kLinkPatience);
  if (any_reported > since + soon / 2) return since + soon;
  return is_tcp() ? since + kLinkPatience : kNever;
}

// Where nothing answers, nothing would ever resolve them, and all sent since would be kept behind them.
void Channel::give_up_old_probes(Time now) {
  for (SentPacket& packet : sent.packets()) {
    if (now - packet.sent_at <= kProbeLife) break;
    if (!packet.undecided()) continue;
    packet.lost_at = now;
    sent.resolve(packet, SentPacket::State::kLost);
  }
}

std::optional<PathId> Channel::take_probe() {
  if (to_probe_.empty()) return std::nullopt;
  const PathId path = to_probe_.front();
  to_probe_.pop_front();
  return path;
}

void Channel::on_sent(Time now, bool asks) {
  if (!asks) return;
  last_sent_ = now;
  stood_still_.tell_time(now);
  loss.on_sent_asking(now, sent, std::exchange(ping_due_, false));
}

void Channel::doubt(Time now) {
  paths.doubt();
  mtu.restart();
  capacity.forget();
  probe_soon(now);
}

std::uint64_t Channel::stream_window(Duration least_rtt) const {
  const Duration waits = way_back.excess() + report_interval();
  return window_for(by_ssh_ ? (wide_.is_on() ? 6 : 2) * least_rtt + waits : 4 * (least_rtt + waits));
}

std::uint64_t Channel::window_for(Duration wait) const {
  const double wanted = stream_rate_ * to_seconds(wait);
  return static_cast<std::uint64_t>(
      std::clamp(wanted, static_cast<double>(kMinStreamWindow), static_cast<double>(kMaxStreamWindow)));
}

void Channel::on_stream_sample(const DeliveryRate::Sample& sample) {
  stream_limited_ = sample.application_limited;
  if (sample.rate > stream_rate_) {
    stream_rate_ = sample.rate;
  } else if (!sample.application_limited) {
    stream_rate_ += (sample.rate - stream_rate_) / 16;
  }
}

Duration Channel::report_interval() const {
  // Before a round trip was seen reports are to be dense: they are what is needed most.
  if (!loss.rtt().has_sample() || (flow != nullptr && flow->sends_trains())) return Receipts::kMinInterval;
  const int reports_per_rtt = flow != nullptr && flow->is_starting() ? 16 : 4;
  return std::clamp<Duration>(loss.rtt().smoothed() / reports_per_rtt, Receipts::kMinInterval,
                              Receipts::kMaxInterval);
}

Duration Channel::wished_interval() const {
  return flow != nullptr && flow->sends_trains() ? Duration{} : report_interval();
}

void Channel::on_covered_span(Time now, Duration span) {
  stood_still_.tell_time(now);
  stood_still_.note(std::min<Duration>(span - report_interval(), kMostStoodStill));
}

// Where nothing comes on the channel its reports come by the control link alone.
Duration Channel::longest_report_delay() const {
  const bool by_link = !receipts.has_anything() || reports_by_link_ >= kReportsByLink;
  return Receipts::kMaxInterval + stood_still_.get() +
         (by_link ? Receipts::kIntervalsOnLink * report_interval() : Duration{});
}

bool Channel::floor_due(Time now) const {
  const Duration wish = wished_interval();
  return now >= next_floor_ || wish < told_interval_ / 2 || wish > told_interval_ * 3 / 2;
}

void Channel::floor_sent(Time now) {
  told_interval_ = wished_interval();
  next_floor_ = now + report_interval();
}

}  // namespace mcdtp
