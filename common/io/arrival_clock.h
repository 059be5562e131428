#pragma once

#include <time.h>

#include "common/core/types.h"

namespace mcdtp {

// When the system took in what was read from it, by our clock. It notes that by the wall clock, which may be set, and which
// goes on while the machine sleeps: what came before such a step came when it was read, for all that is known.
class ArrivalClock {
 public:
  // Our clock and the wall's, both now. Once before anything can come, and after each read.
  void on_read(Time now, const timespec& wall) {
    const Duration apart = of(wall) - now.time_since_epoch();
    if (apart - apart_ >= kStep || apart_ - apart >= kStep) steady_since_ = now;
    apart_ = apart;
    now_ = now;
  }
  // Of what was read last. `stamp`: the system's.
  Time arrived(const timespec& stamp) const {
    const Time by_stamp(of(stamp) - apart_);
    return by_stamp > steady_since_ && by_stamp < now_ ? by_stamp : now_;
  }
  // Of what has no stamp.
  Time arrived() const { return now_; }

 private:
  static constexpr Duration kStep = milliseconds(1);

  static Duration of(const timespec& wall) { return seconds(wall.tv_sec) + Duration(wall.tv_nsec); }

  Duration apart_{};
  Time now_{};
  Time steady_since_{};  // when a step was last noticed
};

}  // namespace mcdtp
