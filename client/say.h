#pragma once

#include <string>

#include "common/io/descriptor.h"

namespace mcdtp {

// One line to the user, on stderr.
inline void say(const std::string& line) { write_stderr_all("mcdtp-shim: " + line + "\n"); }

// A line of who still carries bytes. Whoever reads our stdout to its end before our stderr would wait for us for ever if
// we waited for room; what finds none is left out, as with ssh.
inline void write_line_if_room(const std::string& line) {
  const std::string text = line + "\n";
  [[maybe_unused]] const IoResult ignored =
      try_write_stderr({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

inline void say_if_room(const std::string& line) { write_line_if_room("mcdtp-shim: " + line); }

}  // namespace mcdtp
