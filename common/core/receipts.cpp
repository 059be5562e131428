#include "common/core/receipts.h"

#include <algorithm>
#include <iterator>

#include "common/core/check.h"

namespace mcdtp {

bool Receipts::on_packet(Time arrived, PacketNumber number) {
  // A number that no report could name is none.
  if (number < floor_ || number > kMaxVarint || seen_.add(number, number + 1) == 0) {
    ++duplicates_;
    return false;
  }
  ++received_;
  ++unreported_;
  new_gap_ = after_pause_ = false;
  if (is_highest(number)) {
    after_pause_ = arrived - largest_at_ > kMinInterval;
    largest_at_ = arrived;
    new_gap_ = seen_.size() > 1 && seen_.back().size() == 1;
  }
  if (seen_.size() > kMaxRanges) {
    floor_ = seen_.front().end;
    seen_.pop_front();
  }
  return true;
}

void Receipts::schedule(Time now, bool asks_for_report, bool nothing_left) {
  if (!asks_for_report) return;
  // At once at the first hole of a new loss episode, then again as often as the sender wishes.
  const bool new_episode = new_gap_ && now - last_gap_report_ >= interval_;
  if (new_episode) last_gap_report_ = now;
  // Where reports are to be dense, the first of a train is reported by itself: how the path draws the rest out shows from
  // it.
  const bool begins_train = after_pause_ && takes_trains_;
  const bool is_due = new_episode || begins_train || unreported_ >= kMaxUnreported;
  const Duration wait = is_due ? Duration{} : nothing_left ? std::min(interval_, kMinInterval) : interval_;
  bring_forward(due_, now + wait);
  bring_forward(link_due_, now + kIntervalsOnLink * interval_);
}

void Receipts::on_floor(const FloorFrame& frame) {
  takes_trains_ = frame.report_interval < kMinInterval;
  interval_ = std::clamp(frame.report_interval, kMinInterval, kMaxInterval);
  if (frame.floor <= floor_ || seen_.empty()) return;
  // The largest number stays, so that a report can always be built.
  floor_ = std::min(frame.floor, seen_.back().end - 1);
  seen_.remove_below(floor_);
}

ReportFrame Receipts::about(ChannelId channel, Duration delay, PacketNumber below) const {
  ReportFrame report{channel,   sequence_,   delay,         clock_of_report(largest_at_),
                     received_, duplicates_, kernel_drops_, {}};
  const auto& seen = seen_.ranges();
  auto next = std::make_reverse_iterator(std::partition_point(
      seen.begin(), seen.end(), [&](const Range& range) { return range.begin < below; }));
  // No more than a bitmap could name.
  for (; next != seen.rend() && report.ranges.size() <= 4 * kMaxReportBitmap; ++next) {
    report.ranges.push_back({next->begin, std::min(next->end, below)});
  }
  return report;
}

ReportFrame Receipts::build(Time now, ChannelId channel) {
  CHECK(has_anything());
  ++sequence_;
  return about(channel, now - largest_at_, seen_.back().end);
}

void Receipts::written(PacketNumber lowest) {
  if (lowest <= seen_.front().begin) {
    older_below_.reset();
  } else {
    older_below_ = std::min(has_older() ? *older_below_ : lowest, lowest);
  }
}

ReportFrame Receipts::build_older(ChannelId channel) const {
  CHECK(older_turn());
  return about(channel, {}, *older_below_);
}

void Receipts::written_older(PacketNumber lowest) { older_below_ = lowest; }

}  // namespace mcdtp
