#pragma once

#include <string>

#include "common/io/descriptor.h"

namespace mcdtp {

// One line to the user, on stderr.
inline void say(const std::string& line) { write_stderr_all("mcdtp-shim: " + line + "\n"); }

}  // namespace mcdtp
