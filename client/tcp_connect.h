#pragma once

#include <cstdint>
#include <string>

#include "client/ssh_settings.h"
#include "common/core/types.h"

namespace mcdtp {

// A TCP connection to the first address of `host` that answers, each given at most `patience`. The socket is
// non-blocking, close-on-exec, and sends at once. The caller closes it. Throws "connect to HOST port PORT:
// reason".
int connect_tcp(const std::string& host, std::uint16_t port, AddressFamily family, milliseconds patience);

// The numeric address at the other end, empty where it cannot be told.
std::string peer_address(int socket_fd);

}  // namespace mcdtp
