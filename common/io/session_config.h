#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/session.h"

namespace mcdtp {

// What both programs are told of how to send.
struct SendingOptions {
  std::string congestion = "auto";
  std::string pacing;                 // what find_pacing() knows
  std::optional<std::uint64_t> rate;  // bits of payload a second, over all channels
  Coupling coupling = Coupling::kCoupled;
  std::size_t max_datagram = kMaxDatagram;
  std::uint64_t memory = kUntoldMemory;        // bytes, see SessionConfig
  std::optional<std::uint64_t> max_rate = {};  // as `rate`: never more, whatever the congestion control says
  bool datagrams = true;                       // false: none are sent
  bool doubts_datagrams = false;               // see SessionConfig
  std::vector<std::uint16_t> ports = {};       // see SessionConfig
  bool links_go_by_ssh = false;                // see SessionConfig
};

// `channels`: datagram channels wished or bound; `used`: of them, those that can be used, at most `channels`.
// Throws where there is no such congestion control.
SessionConfig make_session_config(Role role, const SendingOptions& options, std::size_t channels,
                                  std::size_t used);

}  // namespace mcdtp
