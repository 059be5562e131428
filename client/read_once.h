#pragma once

#include <string>

namespace mcdtp {

// Whether this file that ssh is to read is a pipe, a terminal or a descriptor of ours, such as /dev/stdin: what is in it is
// there once, and the ssh that logs in for us has another stdin. False where there is none.
bool is_read_once(const std::string& path);

}  // namespace mcdtp
