#include "client/end_signals.h"

#include <csignal>

namespace mcdtp {

std::vector<int> find_end_signals() {
  std::vector<int> found;
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) found.push_back(number);
  }
  return found;
}

}  // namespace mcdtp
