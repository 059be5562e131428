#pragma once

#include <optional>

#include "common/core/wire.h"

namespace mcdtp {

// The receiving side of one channel: which packet numbers have come, and when that is to be reported.
// The set of numbers is the replay window as well: a number is new once.
class Receipts {
 public:
  // More ranges than this are not kept: the lowest are forgotten, as if the floor had risen. In bytes: half a
  // megabyte. A sender's floor lags about three round trips behind: at 1 Gbit/s, 600 ms and 10 % loss 19,000 holes.
  static constexpr std::size_t kMaxRanges = 32 * 1024;
  // A report is due after so many packets, however short the time: a bitmap in the smallest datagram names four
  // times as many numbers, so each stands in several reports.
  static constexpr std::uint64_t kMaxUnreported = 2048;
  // Where one report cannot name all, each fourth spends half of its room on older numbers.
  static constexpr std::uint64_t kOlderTurn = 4;
  static constexpr Duration kMinInterval = milliseconds(1);
  static constexpr Duration kMaxInterval = milliseconds(50);
  static constexpr int kIntervalsOnLink = 4;

  // Whether the number is new; one below the floor, or over kMaxVarint, never is. The packet must have been
  // authenticated.
  [[nodiscard]] bool on_packet(Time arrived, PacketNumber number);
  // What was learnt from the packet last noted: whether it asks for a report, and whether its sender
  // had nothing left to send.
  void schedule(Time now, bool asks_for_report, bool nothing_left);
  void on_floor(const FloorFrame& floor);
  void on_kernel_drops(std::uint64_t total) { kernel_drops_ = total; }

  // What to say now, newest first; written() takes what was said of it. REQUIRES: has_anything().
  ReportFrame build(Time now, ChannelId channel);
  // There was room to name the numbers of that report down to `lowest`.
  void written(PacketNumber lowest);
  // That report had no room for all, and it is the turn of older numbers.
  bool older_turn() const { return sequence_ % kOlderTurn == 0 && has_older(); }
  // The same report, going on where the last turn of older numbers ended. REQUIRES: older_turn().
  ReportFrame build_older(ChannelId channel) const;
  void written_older(PacketNumber lowest);
  bool has_anything() const { return !seen_.empty(); }
  // When the next report is due on the channel itself.
  Time due() const { return due_; }
  void reported() {
    due_ = kNever;
    unreported_ = 0;
  }
  // The same for the control link, which gets fewer.
  Time link_due() const { return link_due_; }
  void reported_on_link() { link_due_ = kNever; }

  bool is_highest(PacketNumber number) const { return !seen_.empty() && seen_.back().end == number + 1; }
  bool would_be_highest(PacketNumber number) const { return seen_.empty() || seen_.back().end <= number; }
  std::uint64_t received() const { return received_; }
  std::uint64_t duplicates() const { return duplicates_; }
  std::uint64_t kernel_drops() const { return kernel_drops_; }

 private:
  void bring_forward(Time& due, Time when) { due = when < due ? when : due; }
  bool has_older() const { return older_below_ && *older_below_ > seen_.front().begin; }
  ReportFrame about(ChannelId channel, Duration delay, PacketNumber below) const;

  RangeSet seen_;  // above the floor
  // Numbers below this had no room of late: the next turn of older numbers begins here.
  std::optional<PacketNumber> older_below_;
  std::uint64_t unreported_ = 0;  // packets since the last report on the channel itself
  PacketNumber floor_ = 0;
  Time largest_at_{};
  Time last_gap_report_{};
  bool new_gap_ = false;      // the packet last noted opened a hole,
  bool after_pause_ = false;  // ... came long after the one before it
  Duration interval_ = kMinInterval;
  bool takes_trains_ = false;  // the sender wishes to know how they are drawn out
  Time due_ = kNever;
  Time link_due_ = kNever;
  std::uint64_t sequence_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t kernel_drops_ = 0;
};

}  // namespace mcdtp
