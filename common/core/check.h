#pragma once

#include <cstdio>
#include <cstdlib>

namespace mcdtp {

[[noreturn]] inline void fail_check(const char* file, int line) {
  std::fprintf(stderr, "mcdtp: a bug: check failed at %s:%d\n", file, line);
  std::abort();
}

}  // namespace mcdtp

// Our own bug: there is no state left to trust, so the process says where and ends here, in release builds too.
// Never for what a peer, the network or the system did.
#define CHECK(condition)                                       \
  do {                                                         \
    if (!(condition)) ::mcdtp::fail_check(__FILE__, __LINE__); \
  } while (false)
