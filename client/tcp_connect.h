#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "client/ssh_settings.h"
#include "common/core/types.h"

namespace mcdtp {

class ConnectTimedOut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A TCP connection to the first address of `host` that answers, each given at most `patience`. The socket is
// non-blocking, close-on-exec, and sends at once. The caller closes it. Throws "connect to HOST port PORT:
// reason", as ConnectTimedOut where the last address did not answer.
int connect_tcp(const std::string& host, std::uint16_t port, AddressFamily family, milliseconds patience);

// Has the kernel end the connection once its far side has been silent for `interval` (1 s or more) and `count` times as
// long, though asked all the while (tcp(7): TCP_KEEPIDLE, TCP_USER_TIMEOUT). No interval: it stays as long as the kernel
// likes.
void end_after_silence(int socket_fd, unsigned interval_seconds, unsigned count);

// The numeric address at the other end, empty where it cannot be told.
std::string peer_address(int socket_fd);

}  // namespace mcdtp
