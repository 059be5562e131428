#include "common/io/descriptor_limit.h"

#include <sys/resource.h>

namespace mcdtp {
namespace {

// The event loop's, pipes for signals, stdin and stdout, a command's pipes, the TCP link.
constexpr rlim_t kOfASession = 20;

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

bool allows_session() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kOfASession;
}

bool leaves_descriptors(int newest) {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) != 0 || static_cast<rlim_t>(newest) + kOfASession < limit.rlim_cur;
}

}  // namespace mcdtp
