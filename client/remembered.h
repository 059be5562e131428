#pragma once

#include <string>

#include "client/absent_memory.h"
#include "client/forced_memory.h"
#include "client/relay_memory.h"
#include "client/udp_memory.h"

namespace mcdtp {

// What earlier runs have found out about a host.
struct Remembered {
  // As for each of them.
  Remembered(const std::string& folder, const SshConfig& config)
      : forced(folder, config), absent(folder, config), udp(folder, config), relay(folder, config) {}

  ForcedMemory forced;
  AbsentMemory absent;
  UdpMemory udp;
  RelayMemory relay;
};

}  // namespace mcdtp
