#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "common/core/of_late.h"
#include "common/core/wire.h"

namespace mcdtp {

// How much longer than at its quickest of late the way back of a channel's reports takes. An RTT holds that as well: a
// queue that the peer's own data or others fill there, a radio link, another way of the reports. It is no queue of what we
// send. The peer says by its clock when a packet came (after RFC 6817's one-way delays); clocks differ, and run unlike.
class WayBack {
 public:
  // A packet came at `arrived`, see ReportFrame. Were there no way back, its report would have told us at `told`.
  void on_report(Time now, Time told, std::uint64_t arrived) {
    const std::uint64_t apart = (clock_of_report(told) - arrived) % kReportClock;
    if (!first_) first_ = apart;
    latest_ = difference(apart, *first_);
    smallest_.tell_time(now);
    smallest_.note(latest_);
  }
  Duration excess() const {
    return first_ ? std::max(Duration{}, microseconds(latest_ - smallest_.get()) - kClocks) : Duration{};
  }

 private:
  static constexpr Duration kLife = seconds(30);
  static constexpr Duration kClocks = microseconds(1500);  // 50 parts in a million of kLife

  static std::int64_t difference(std::uint64_t value, std::uint64_t from) {
    const auto less = static_cast<std::int64_t>((value - from) % kReportClock);
    return less < static_cast<std::int64_t>(kReportClock / 2)
               ? less
               : less - static_cast<std::int64_t>(kReportClock);
  }

  std::optional<std::uint64_t> first_;
  std::int64_t latest_ = 0;
  SmallestOfLate<std::int64_t> smallest_{kLife, std::numeric_limits<std::int64_t>::max()};
};

}  // namespace mcdtp
