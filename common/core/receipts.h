#pragma once

#include <optional>

#include "common/core/wire.h"

namespace mcdtp {

// The receiving side of one channel: which packet numbers have come, and when that is to be reported.
// The set of numbers is the replay window as well: a number is new once.
class Receipts {
 public:
  // More ranges than this are not kept: the lowest are forgotten, as if the floor had risen.
  static constexpr std::size_t kMaxRanges = 2 * kMaxReportRanges;
  static constexpr Duration kMinInterval = milliseconds(1);
  static constexpr Duration kMaxInterval = milliseconds(50);

  // Whether the number is new; one below the floor, or over kMaxVarint, never is. The packet must have been
  // authenticated.
  [[nodiscard]] bool on_packet(Time now, PacketNumber number);
  // What was learnt from the packet last noted: whether it asks for a report, and whether its sender
  // had nothing left to send.
  void schedule(Time now, bool asks_for_report, bool nothing_left);
  void on_floor(const FloorFrame& floor);
  void on_kernel_drops(std::uint64_t total) { kernel_drops_ = total; }

  // REQUIRES: has_anything().
  ReportFrame build(Time now, ChannelId channel);
  bool has_anything() const { return !seen_.empty(); }
  // When the next report is due on the channel itself.
  Time due() const { return due_; }
  void reported() { due_ = kNever; }
  // The same for the control link, which gets fewer.
  Time link_due() const { return link_due_; }
  void reported_on_link() { link_due_ = kNever; }

  bool is_highest(PacketNumber number) const { return !seen_.empty() && seen_.back().end == number + 1; }
  std::uint64_t received() const { return received_; }
  std::uint64_t duplicates() const { return duplicates_; }
  std::uint64_t kernel_drops() const { return kernel_drops_; }

 private:
  void bring_forward(Time& due, Time when) { due = when < due ? when : due; }

  RangeSet seen_;  // above the floor
  PacketNumber floor_ = 0;
  Time largest_at_{};
  Time last_gap_report_{};
  bool new_gap_ = false;  // the packet last noted opened a hole
  Duration interval_ = kMinInterval;
  Time due_ = kNever;
  Time link_due_ = kNever;
  std::uint64_t sequence_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t kernel_drops_ = 0;
};

}  // namespace mcdtp
