#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "client/bootstrap.h"
#include "client/local_ports.h"
#include "client/remembered.h"
#include "common/io/transfer_log.h"

namespace mcdtp {

// Runs the session that a greeting has opened: stdin up, stdout and stderr down, and forwarded ports, until the
// command's status is in and all its output is written. Returns the exit status: the command's, or 255 with one sentence on
// stderr. Nothing: the server forwards nothing for who is to be a relay, and not a byte was taken or given.
// REQUIRES: login.finder.greeting(). `ports`: those that are not open yet are opened here.
// `remembered`: of this host; unset: nobody knows which it is.
// `end_signals`: those that end it. `on_ready`: called once, when all ports that are to be forwarded stand, or were said
// not to.
std::optional<int> run_session(const Options& options, LocalPorts& ports, Login& login,
                               const std::optional<Remembered>& remembered, TransferLog& log,
                               const std::vector<int>& end_signals, std::function<void()> on_ready);

}  // namespace mcdtp
