#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mcdtp {

// What `getent ahosts` prints, one entry for each address and kind of socket: each address once, in its order. Pure.
std::vector<std::string> parse_ahosts(std::string_view printed);

// Asks this host's own getent. A statically linked program has to: the look-up of its C library would want the other
// libraries of the host that it was built on. Blocks as long as getent does. Throws Unresolved.
// REQUIRES: the host is no numeric address.
std::vector<std::string> ask_getent(const std::string& host);

}  // namespace mcdtp
