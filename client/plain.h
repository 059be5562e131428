#pragma once

#include <vector>

#include "client/bootstrap.h"

namespace mcdtp {

// Goes on over the log-in that found no server: the command runs as under ssh, and so do its bytes. Returns the
// exit status. `read_stdin`: false for -n. `end_signals`: those that end it.
int run_plain_session(Login& login, bool read_stdin, const std::vector<int>& end_signals);

}  // namespace mcdtp
