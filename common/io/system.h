#pragma once

#include <sys/random.h>
#include <time.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <stdexcept>

#include "common/core/types.h"

// The only clock and the only entropy of both programs.
namespace mcdtp {

// Never goes back and does not follow the wall clock. Means nothing to another host.
inline Time now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Time(seconds(t.tv_sec) + Duration(t.tv_nsec));
}

// What the wall clock says, for people to read, and to tell the system's stamps by.
inline timespec time_of_day() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return t;
}
// As that, for what is remembered from one run to the next.
inline std::int64_t seconds_since_1970() { return time_of_day().tv_sec; }

// Fills all of `out` from the kernel's generator, good for keys. Waits for it at early boot; throws where
// there is none, for nothing else may take its place.
inline void random_bytes(MutableBytes out) {
  while (!out.empty()) {
    const ssize_t n = getrandom(out.data(), out.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw std::runtime_error("reading random bytes: the kernel gives none");
    out = out.subspan(static_cast<std::size_t>(n));
  }
}

inline std::uint64_t random_number() {
  std::array<std::uint8_t, sizeof(std::uint64_t)> bytes;
  random_bytes(bytes);
  return std::bit_cast<std::uint64_t>(bytes);
}

}  // namespace mcdtp
