#pragma once

#include <array>

#include "tests/sim/measure.h"

// The wide matrix of links: all of these with each other.
namespace mcdtp::sim {

inline constexpr std::array kMatrixRates{10.0, 100.0, 500.0, 1000.0, 10000.0};  // Mbit/s
inline constexpr std::array kMatrixDelays{5.0, 25.0, 50.0, 150.0, 300.0};       // ms, one way
inline constexpr std::array kMatrixLosses{0.0, 0.1, 1.0, 5.0, 10.0};            // %, each way
inline constexpr std::array kMatrixBursts{1.0, 4.0};        // packets lost in a row, the mean
inline constexpr std::array kMatrixQueues{0.25, 1.0, 4.0};  // rate x RTT, at least 64 KiB

inline Path matrix_path(double rate, double delay, double loss, double burst, double queue) {
  Path path{rate, delay, loss / 100, queue};
  path.loss_burst = burst;
  return path;
}

// When the start is over: 2 s, or 16 RTT where those are more.
inline Duration matrix_start(const Path& path) {
  return std::max<Duration>(seconds(2), from_seconds(32 * path.delay_ms / 1e3));
}

}  // namespace mcdtp::sim
