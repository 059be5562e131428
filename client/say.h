#pragma once

#include <string>

namespace mcdtp {

// Lines to the user: on stderr, which the far command has as well, or in a log of their own.

// From now on they say that they are of the way to `host`, a jump host.
void say_of_way_to(const std::string& host);

// From now on they are appended to the file, as with ssh's -E. Throws std::runtime_error where it cannot be opened.
void say_into(const std::string& path);

// One line, after our name.
void say(const std::string& line);

// Who logs in was ended by a signal of this name, and has said nothing of that. Nothing where it is empty.
void say_killed(const std::string& signal);

// A line of who still carries bytes. Whoever reads our stdout to its end before our stderr would wait for us for ever if
// we waited for room; what finds none is left out, as with ssh.
void write_line_if_room(const std::string& line);
void say_if_room(const std::string& line);

}  // namespace mcdtp
