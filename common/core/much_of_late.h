#pragma once

#include <cstdint>

#include "common/core/types.h"

namespace mcdtp {

// Whether a number of bytes has grown by much of late: in this window or in the one before it.
class MuchOfLate {
 public:
  // `total`: bytes ever.
  void note(Time now, std::uint64_t total) {
    if (total - before_ >= kMuch) last_ = now, was_much_ = true;
    if (now - began_ < kWindow && total - before_ < kMuch) return;
    began_ = now;
    before_ = total;
  }
  bool is_much(Time now) const { return was_much_ && now - last_ < 2 * kWindow; }

 private:
  static constexpr Duration kWindow = milliseconds(500);
  static constexpr std::uint64_t kMuch = 64 * 1024;  // bytes

  Time began_{};
  std::uint64_t before_ = 0;
  Time last_{};
  bool was_much_ = false;
};

}  // namespace mcdtp
