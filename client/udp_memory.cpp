#include "client/udp_memory.h"

namespace mcdtp {
namespace {

std::string host_of(const SshConfig& config) { return config.host_name() + " port " + config.text("port"); }

}  // namespace

UdpMemory::UdpMemory(const std::string& folder, const SshConfig& config)
    : file_(folder, "no-udp",
            host_of(config) + "\n" + config.text("proxyjump") + "\n" + config.text("proxycommand"),
            host_of(config)) {}

bool UdpMemory::was_said(std::int64_t now) const {
  const auto kept = file_.read(now, kPeriod);
  return kept && kept->since != 0;
}

bool UdpMemory::remember(std::int64_t now, bool says) const {
  return file_.write({now + kPeriod, says || was_said(now) ? now : 0});
}

}  // namespace mcdtp
