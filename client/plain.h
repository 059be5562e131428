#pragma once

#include "client/bootstrap.h"

namespace mcdtp {

// Goes on over the log-in that found no server: the command runs as under ssh, and so do its bytes. Returns the
// exit status. `read_stdin`: false for -n.
int run_plain_session(Login& login, bool read_stdin);

}  // namespace mcdtp
