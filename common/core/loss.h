#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "common/core/sent_packets.h"

namespace mcdtp {

// Round-trip time of one channel (RFC 9002 section 5).
class RttEstimator {
 public:
  static constexpr Duration kInitialRtt = milliseconds(333);

  // Without the time that the receiver held the report. REQUIRES: latest > 0.
  void on_sample(Duration latest);
  // Of a packet reported `trip` after it was sent, the report `held` for so long by the peer. Where a host slept no longer
  // than its clock says, or its clock slept too, it was held for longer than it was away: no sample.
  std::optional<Duration> sample(Duration trip, Duration held) const;
  // As much of a time as can be believed at once. What came on a connection is timed when it is read, and a process that was
  // stopped, ours or the peer's, finds it waiting, for hours maybe: that must not be what time-outs go by from then on.
  Duration believed(Duration time) const;

  bool has_sample() const { return has_sample_; }
  Duration smoothed() const { return smoothed_; }
  Duration latest() const { return latest_; }
  Duration min() const { return min_; }
  Duration variation() const { return variation_; }

 private:
  bool has_sample_ = false;
  Duration smoothed_ = kInitialRtt;
  Duration latest_ = kInitialRtt;
  Duration min_ = kInitialRtt;
  Duration variation_ = kInitialRtt / 2;
};

// What one report changed.
struct ReportNews {
  bool newer = false;                      // it names a number larger than any before
  std::vector<PacketNumber> covered;       // outstanding until now
  std::vector<PacketNumber> covered_late;  // declared lost before: the loss was spurious
  // A sample, when the largest number was newly covered; without the receiver's delay.
  std::optional<Duration> rtt;
  // Between the sending of the first and of the last that is `covered`, where no report is missing before this one: longer
  // than reports are apart where the peer stood still. 0 where one is missing.
  Duration covered_span{};
};

// How much out of order packets come on one channel: learnt from losses that were spurious, and halved after every
// kMemory round trips without one (as RACK's window, RFC 8985 section 6.2).
class Reordering {
 public:
  static constexpr PacketNumber kMinPackets = 3;  // RFC 9002 section 6.1.1
  static constexpr PacketNumber kMaxPackets = 512;
  static constexpr int kMemory = 16;

  // A packet declared lost was covered when one `distance` numbers newer had been, and `late` after its time.
  // `rtt`: the channel's, the most that it is worth waiting for.
  void on_spurious(Time now, PacketNumber distance, Duration late, Duration rtt);
  void fade(Time now, Duration rtt);

  // A packet is lost when one so many numbers newer has been covered.
  PacketNumber packets() const { return packets_; }
  // ... or so long after its time.
  Duration allowance() const { return allowance_; }

 private:
  PacketNumber packets_ = kMinPackets;
  Duration allowance_{};
  Time last_{};  // that it grew or was halved
};

// Loss verdicts and the probe time-out of one channel (RFC 9002 section 6), with thresholds that grow with the
// reordering that spurious losses show.
class LossDetector {
 public:
  static constexpr int kMaxBackoff = 6;

  // False: a number that was never sent is named; nothing was changed. A report costs what is new in it, and for
  // each of its ranges a search. One that others have overtaken still counts, for it may name what they had no
  // room for; only its delay is of no use any more.
  // `arrived`: when it came; `now`: when it is read.
  [[nodiscard]] bool on_report(Time now, Time arrived, const ReportFrame& report, SentPackets& sent,
                               ReportNews& news);
  // The packets that are lost by `known_at`: then came the newest report that was read, or, without one, it is now. They are
  // resolved as such. Costs what is lost: of two packets outstanding the older is always lost first, so that it ends at the
  // first that is not. `report_delay`: how long the receiver holds a report: what came a little late stands in the next.
  std::vector<PacketNumber> detect_lost(Time now, Time known_at, Duration report_delay, SentPackets& sent);
  // A packet that asks for a report goes out; `probe`: it answers the last probe time-out.
  void on_sent_asking(Time now, const SentPackets& sent, bool probe) {
    if (probe || sent.packets_outstanding() == 0) waiting_since_ = now;
  }

  // When detect_lost() has to run again without a report.
  Time loss_timer() const { return loss_timer_; }
  // When the channel should be probed: counted from the last sign of life, not from the last packet, or a
  // dead channel would swallow packets without end. `report_delay`: how long the receiver may hold a report.
  Time probe_timer(const SentPackets& sent, Duration report_delay) const;
  void on_probe_timeout() {
    backoff_ = backoff_ < kMaxBackoff ? backoff_ + 1 : backoff_;
    ++probes_unanswered_;
  }
  // What was last: a report that covered anything, a sending where nothing was outstanding, or the one that answered a
  // probe time-out.
  Time waiting_since() const { return waiting_since_; }
  // Probe time-outs since a report last covered anything.
  int probes_unanswered() const { return probes_unanswered_; }

  const RttEstimator& rtt() const { return rtt_; }
  const Reordering& reordering() const { return reordering_; }

 private:
  // When a packet should have been reported, after it was sent.
  Duration expected() const { return std::max(rtt_.smoothed(), rtt_.latest()); }
  Duration time_threshold(Duration report_delay) const;
  void cover(Time arrived, PacketNumber number, SentPackets& sent, ReportNews& news);

  RttEstimator rtt_;
  Duration held_{};   // the report that gave the last sample, by the peer
  RangeSet covered_;  // all numbers that reports have named, from sent.first() on
  std::optional<PacketNumber> largest_covered_;
  std::uint64_t newest_sequence_ = 0;
  Reordering reordering_;
  Time loss_timer_ = kNever;
  Time waiting_since_{};
  int backoff_ = 0;
  int probes_unanswered_ = 0;
};

}  // namespace mcdtp
