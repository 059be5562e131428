#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "client/libssh2_plan.h"

namespace mcdtp {

// The far side has taken the connection, and sent no version of SSH in time.
class BannerTimedOut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The log-in stands, and the far side opens no session or runs no command for it, as where files alone are served.
class SessionRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The version of the libssh2 that runs, not of the one compiled against.
std::string libssh2_library_version();

// Logs in and runs `exec_line` with our 0, 1 and 2 as its stdin, stdout and stderr. It never prompts. A host
// key that is not known, has changed or is revoked ends it before any word about the user has left.
// `on_authenticated` gets the far side's numeric address before the exec line is sent. Until then a throw
// means that nothing has run on the far side and ssh may be used (ConnectTimedOut, BannerTimedOut: where ConnectTimeout is
// set it would fare no better); afterwards, that nothing will run (SessionRefused), or that the connection is lost.
// Returns the command's exit status, 255 where a signal ended it or the far side gave none.
// REQUIRES: the process is there for this alone. What libssh2 holds is left to the process's end.
int run_libssh2(const Libssh2Plan& plan, const std::string& exec_line,
                const std::function<void(const std::string&)>& on_authenticated);

}  // namespace mcdtp
