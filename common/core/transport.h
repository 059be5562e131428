#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mcdtp {

// What carries the data: what is found, in the order of the ladder; direct TCP connections or, where none can be made, the
// SSH channel; or that alone.
enum class Transport : std::uint8_t { kAuto, kTcp, kSsh };
inline constexpr std::array<std::string_view, 3> kTransportNames = {"auto", "tcp", "ssh"};

constexpr std::string_view transport_name(Transport transport) {
  return kTransportNames[static_cast<std::size_t>(transport)];
}

constexpr std::optional<Transport> find_transport(std::string_view name) {
  const auto found = std::find(kTransportNames.begin(), kTransportNames.end(), name);
  if (found == kTransportNames.end()) return std::nullopt;
  return static_cast<Transport>(found - kTransportNames.begin());
}

}  // namespace mcdtp
