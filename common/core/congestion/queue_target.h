#pragma once

#include <algorithm>
#include <cmath>

namespace mcdtp {

// How long a queue may be for who sends at `rate` (bytes/s, > 0) on a path of `rtt`, without a queue, whose buffer holds
// `buffer` (0: not known), in trains of `train`, all in seconds: less than an RTT that is not short, and less than a part
// of the buffer, but more than our own trains make. Up to there, too, it is the less the more is sent, or nothing would
// bring two to the same rate.
inline double queue_target(double rate, double rtt, double buffer, double train) {
  constexpr double kAtOne = 15;        // s at 1 byte/s: 13 ms at 10 Mbit/s, 4.2 ms at 100, 1.3 ms at 1,000
  constexpr double kLeast = 0.0005;    // s: what hosts add without any queue
  constexpr double kShortRtt = 0.002;  // s: no RTT asks for less
  constexpr double kOfBuffer = 0.35;   // leaves room for others, and for what comes unevenly
  constexpr double kOfTrain = 1.5;     // its last packet waits for the rest, on an empty path too
  const double wanted = kAtOne / std::sqrt(rate);
  const double fair = wanted / std::cbrt(1 + std::pow(wanted / std::max(rtt, kShortRtt), 3));
  const double room = std::max(kOfBuffer * buffer, kOfTrain * train);
  return std::max(kLeast, buffer > 0 ? fair / std::hypot(1, fair / room) : fair);
}

}  // namespace mcdtp
