#pragma once

#include <optional>
#include <string>

#include "client/background.h"
#include "client/bootstrap.h"
#include "client/remembered.h"

// The ways on where no server of ours greets: the real ssh, and what the next run is to know of it.
namespace mcdtp {

// The real ssh, with the same words, for what it alone can do.
[[noreturn]] void become_ssh(const Options& options, const std::string& reason);

// There is no server for a command, which runs without one: the user is told.
void note_plain(const Options& options, const std::optional<Remembered>& remembered);

// No greeting: a failed log-in, of which ssh has spoken; or a command that the far side forces on this key, no server for
// what needs one, or one that cannot start. Then the real ssh runs, with the same words; not one byte of stdin has been read.
// Returns the status where the log-in failed; else it does not return. `background`: null where the run stays in front.
int without_greeting(const Options& options, Login& login, const std::optional<Remembered>& remembered,
                     Background* background);

// What needs a server goes by the real ssh at once where there was none of late.
void leave_where_absent(const Options& options, const Remembered& remembered);

}  // namespace mcdtp
