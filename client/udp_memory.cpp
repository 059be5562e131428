#include "client/udp_memory.h"

namespace mcdtp {
namespace {

std::string host_of(const SshConfig& config) { return config.host_name() + " port " + config.text("port"); }

}  // namespace

UdpMemory::UdpMemory(const std::string& folder, const SshConfig& config)
    : file_(folder, "no-udp",
            host_of(config) + "\n" + config.text("proxyjump") + "\n" + config.text("proxycommand"),
            host_of(config)) {}

}  // namespace mcdtp
