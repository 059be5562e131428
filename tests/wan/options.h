#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/wan/settings.h"

namespace CLI {
class App;
}

namespace mcdtp::wan {

struct Options {
  std::string near;
  std::string far;
  std::string device = "wan0";
  std::uint64_t seed = 1;
  Duration tick = microseconds(200);  // time between two looks at busy devices
  std::optional<double> seconds;      // unset: until a signal
  bool offload = true;                // trains cross the devices whole, where the kernel can do that
  std::string flows;                  // file for bytes a flow and interval; empty: none
  Duration interval = std::chrono::seconds(1);
  // Of silence, until the NAT before the near host forgets a mapping; unset: there is no NAT.
  std::optional<Duration> nat_forget;
  bool firewall = false;  // before the far host
  PathSettings up;        // near to far
  PathSettings down;
};

// Declares all options on `app`; parsing fills `options`, which must outlive it.
void declare(CLI::App& app, Options& options);

}  // namespace mcdtp::wan
