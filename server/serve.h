#pragma once

#include "server/options.h"

namespace mcdtp {

// Binds what the options ask for, greets on stdout, runs the command and serves the session until the SSH
// channel ends, which hangs the command up unless it has ended. Returns the exit status: kNobodyWaits, and nothing was
// done, where the client has ended our stdin. Throws a sentence where the system gives no process or pipe. REQUIRES: called
// on the main thread; the options speak our version.
int serve(const ServerOptions& options);

}  // namespace mcdtp
