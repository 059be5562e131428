#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/core/types.h"

namespace mcdtp {

// The rate of a path's bottleneck, measured by the dispersion of packet trains: packets that were sent at once leave the
// bottleneck one behind the other, as fast as it sends. A train that crossed others on its way, or was held up by a host,
// says another thing; so nothing is known until some trains agree.
class Dispersion {
 public:
  static constexpr std::size_t kTrains = 8;  // and no more

  // `least_bytes`: a train whose first report leaves no more than that says nothing.
  explicit Dispersion(double least_bytes) : least_bytes_(least_bytes) {}

  // A report has covered a packet: the last of `bytes` sent at once, `before` them ever. Older trains are passed over.
  void note(std::uint64_t before, double bytes, Time arrived_at) {
    if (newest().before == kNone || before > newest().before)
      return begin({before, bytes, 0, arrived_at, {}});
    if (before < newest().before || bytes <= newest().first) return;
    newest().rest = bytes - newest().first;
    newest().took = arrived_at - newest().first_at;
    rate_ = agreed_rate();
  }
  // Bytes/s; 0: not known.
  double rate() const { return rate_; }
  // More trains would say nothing more.
  bool is_done() const { return says_much(trains_.back()) || rate_ > 0; }
  // Most trains passed too fast to be told: longer ones might say more.
  bool is_too_fast() const {
    const std::vector<double> rates = sorted_rates();
    return rates.size() >= kLeastTrains && !std::isfinite(rates[rates.size() / 2]);
  }

 private:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  struct Train {
    std::uint64_t before = kNone;
    double first = 0;  // bytes that the first report of it covered,
    double rest = 0;   // and the later ones
    Time first_at{};
    Duration took{};  // the arrival of the rest
    // Infinite: too fast to be told. Were such trains left out, those held up on the way would be all that counts.
    double rate() const {
      return took >= kLeastTime ? rest / to_seconds(took) : std::numeric_limits<double>::infinity();
    }
  };
  bool says_much(const Train& train) const { return train.rest >= least_bytes_; }
  Train& newest() { return trains_[newest_]; }
  // In the place of the last one, if that said little: lone packets are no trains.
  void begin(const Train& train) {
    if (says_much(newest()) && newest_ + 1 < kTrains) ++newest_;
    newest() = train;
  }

  std::vector<double> sorted_rates() const {
    std::vector<double> rates;
    for (const Train& train : trains_) {
      if (says_much(train)) rates.push_back(train.rate());
    }
    std::sort(rates.begin(), rates.end());
    return rates;
  }

  double agreed_rate() const {
    const std::vector<double> rates = sorted_rates();
    if (rates.size() < kLeastTrains) return 0;
    const std::size_t middle = rates.size() / 2;
    const bool agree = std::isfinite(rates[middle]) && rates[middle + 1] <= kAlike * rates[middle - 1];
    return agree ? rates[middle] : 0;
  }

  static constexpr std::size_t kLeastTrains = 3;
  static constexpr Duration kLeastTime = microseconds(300);  // hosts are no more exact
  static constexpr double kAlike = 1.2;                      // times, of the trains about the middle

  double least_bytes_;
  std::array<Train, kTrains> trains_{};
  std::size_t newest_ = 0;
  double rate_ = 0;  // bytes/s, as of the last report: asked for with each packet
};

}  // namespace mcdtp
