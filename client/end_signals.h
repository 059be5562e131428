#pragma once

#include <vector>

namespace mcdtp {

// The signals that end a run, as they end ssh: SIGHUP, SIGINT, SIGQUIT and SIGTERM, but for those that were ignored when
// the program began. Whoever ignores one for us, as nohup does, and a shell without job control for what it starts with &,
// wants us to outlive it. REQUIRES: nothing was done to signals yet.
std::vector<int> find_end_signals();

}  // namespace mcdtp
