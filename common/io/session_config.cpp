#include "common/io/session_config.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "common/core/congestion/congestion_capped.h"
#include "common/io/system.h"

namespace mcdtp {
namespace {

constexpr std::uint64_t kNoRate = std::numeric_limits<std::uint64_t>::max();

}  // namespace

SessionConfig make_session_config(Role role, const SendingOptions& options, std::size_t channels,
                                  std::size_t used) {
  SessionConfig config;
  config.role = role;
  config.channels = channels;
  config.memory = options.memory;
  // Told a rate, channels of their own control send it together.
  const std::uint64_t shares = options.coupling == Coupling::kNone ? std::max<std::size_t>(1, used) : 1;
  std::optional<std::uint64_t> rate = options.rate;
  if (rate) rate = std::max<std::uint64_t>(1, *rate / shares);
  std::optional<std::uint64_t> cap = options.max_rate;
  if (cap) cap = std::max<std::uint64_t>(1, *cap / shares);
  config.congestion = [name = options.congestion, rate, cap, pacing = *find_pacing(options.pacing)] {
    auto control = make_congestion(name, rate, pacing, random_number());
    return cap && control ? std::make_unique<CongestionCapped>(std::move(control), *cap) : std::move(control);
  };
  // TCP's control and ssh's know of neither.
  const auto told = std::min(options.rate.value_or(kNoRate), options.max_rate.value_or(kNoRate));
  if (told != kNoRate) config.max_stream_rate = std::max(1.0, static_cast<double>(told) / 8);
  config.coupling = options.coupling;
  config.max_datagram = options.max_datagram;
  config.datagrams = options.datagrams;
  config.doubts_datagrams = options.doubts_datagrams;
  config.ports = options.ports;
  config.links_go_by_ssh = options.links_go_by_ssh;
  // Who tells a rate, or another controller, wants that by UDP.
  config.tries_links = options.congestion == "auto" && told == kNoRate;
  if (!config.congestion())
    throw std::runtime_error("--cc " + options.congestion + ": no such congestion control");
  return config;
}

}  // namespace mcdtp
