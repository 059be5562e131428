#pragma once

#include <cstdlib>

// Our own bug: there is no state left to trust, so the process ends here, in release builds too.
// Never for what a peer, the network or the system did. A debugger or a core file shows the line.
#define CHECK(condition)            \
  do {                              \
    if (!(condition)) std::abort(); \
  } while (false)
