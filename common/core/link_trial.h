#pragma once

#include <cstdint>
#include <optional>

#include "common/core/types.h"

namespace mcdtp {

// Whether the direct TCP connection is to carry data beside the datagrams: a network may throttle UDP alone. While more waits
// than goes by UDP, a little goes on the connection now and then, half as much again with each round trip that shows no queue:
// where one shows, both share a bottleneck, and the trial is over. Else what arrives in its later half decides. A connection
// that helps pauses now and then, to see whether it is needed still. Driven by reports alone: it has no timer, and its time
// is that in which something waits.
class LinkTrial {
 public:
  static constexpr double kGain = 1.5;                // how much more has to arrive with it
  static constexpr Duration kFirstWait = seconds(3);  // before a trial; each that fails doubles it
  static constexpr Duration kMostWait = seconds(60);
  static constexpr Duration kHelp = seconds(30);  // until the next pause
  // Bytes in a record while it is tried: TCP's initial window, so that it takes one round trip; or fewer, where these would
  // take longer than kRecordTime at the rate of the datagrams.
  static constexpr std::uint64_t kMostRecord = 8 * 1024;
  static constexpr std::uint64_t kLeastRecord = 1200;
  static constexpr double kRecordTime = 0.02;  // s
  // Where a record of one that helps is out for longer, or for eight round trips, whoever reads waits for it too long.
  static constexpr Duration kPatience = seconds(1);

  // A report of datagrams: so many bytes more have arrived. `busy`: more waits than they take. `base`: the RTT of the path
  // without a queue.
  void on_datagrams(Time now, std::uint64_t arrived, bool busy, Duration base);
  // A report of the connection. `rtt`: of its newest record, where there is a sample.
  void on_link(std::uint64_t arrived, std::optional<Duration> rtt);
  // The oldest record on the connection has been out for so long.
  void on_waiting(Duration age);
  // There is no such connection, or nothing to try it for. One that carried data has failed.
  void forget();

  // It may carry data.
  bool carries() const { return tries() || helps(); }
  bool tries() const { return phase_ == Phase::kTrying; }
  bool helps() const { return phase_ == Phase::kHelping; }
  // It has failed, or was never tried: nothing is to wait for what is out on it.
  bool rests() const { return phase_ == Phase::kResting; }
  // While it is tried: bytes out on the connection, and in a record, at most.
  std::uint64_t window() const { return window_; }
  std::uint64_t record() const { return record_; }

 private:
  enum class Phase : std::uint8_t { kResting, kTrying, kHelping, kPausing };

  void begin(Phase phase);
  Duration length_of(Phase phase) const;
  void count(std::uint64_t arrived);
  void judge();
  void fail();
  void widen(std::uint64_t arrived);
  Duration slack() const;

  Phase phase_ = Phase::kResting;
  Duration passed_{};  // of this phase
  Duration length_ = kFirstWait;
  Duration wait_ = kFirstWait;
  Duration base_{};
  bool was_busy_ = false;
  Time reported_{};
  std::uint64_t arrived_ = 0;  // in the later half of this phase
  double rate_ = 0;            // bytes/s, of the phase before
  std::uint64_t window_ = 0;
  std::uint64_t record_ = 0;
  std::uint64_t of_window_ = 0;  // has arrived
};

}  // namespace mcdtp
