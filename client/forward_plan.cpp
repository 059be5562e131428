#include "client/forward_plan.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>

namespace mcdtp {
namespace {

// Each takes a stream, and the command waits for all: the smallest memory has 128.
constexpr std::size_t kMostRemote = 64;

int family_of(AddressFamily family) {
  return family == AddressFamily::kIpv4 ? AF_INET : family == AddressFamily::kIpv6 ? AF_INET6 : AF_UNSPEC;
}

UnixSocketRules unix_socket_rules(const SshConfig& config) {
  UnixSocketRules rules;
  rules.unlink_first = config.is_on("streamlocalbindunlink");
  const std::string mask = config.text("streamlocalbindmask");
  if (!mask.empty()) rules.mask = static_cast<mode_t>(std::strtoul(mask.c_str(), nullptr, 8));
  return rules;
}

bool can_be_asked(const Forward& forward) {
  if (const auto target = listen_target(forward)) return is_sayable(*target);
  return forward.kind == Forward::Kind::kDynamic || is_sayable(connect_target(forward.connect));
}

// Where the far side's programs may go by SOCKS is then ssh's to judge.
bool is_limited(const SshConfig& config, const Forward& forward) {
  return forward.kind == Forward::Kind::kRemoteDynamic && config.text("permitremoteopen") != "any";
}

}  // namespace

std::size_t ForwardPlan::remote_forwards() const {
  return static_cast<std::size_t>(std::count_if(forwards.begin(), forwards.end(), [](const Forward& forward) {
    return listen_target(forward).has_value();
  }));
}

bool ForwardPlan::listens_at_path() const {
  return std::any_of(forwards.begin(), forwards.end(), [](const Forward& forward) {
    return !listen_target(forward) && !forward.listen.path.empty();
  });
}

// A port of the far side without an address: its own loopback's.
std::optional<Target> listen_target(const Forward& forward) {
  if (forward.kind == Forward::Kind::kLocal || forward.kind == Forward::Kind::kDynamic) return std::nullopt;
  const ListenEnd& end = forward.listen;
  if (!end.path.empty()) return ListenUnix{end.path};
  const std::string address = end.bind.value_or("localhost");
  return ListenTcp{address == "*" ? "" : address, end.port};
}

Target connect_target(const ForwardEnd& end) {
  if (!end.path.empty()) return ToUnix{end.path};
  return ToTcp{end.host, end.port};
}

// -W clears all others unless the configuration says not to, and is nothing without its connection.
std::optional<ForwardPlan> plan_forwards(const Options& options, const std::optional<SshConfig>& config) {
  ForwardPlan plan;
  plan.family = family_of(options.address_family);
  plan.log_level = config ? config->log_level() : options.quiet ? LogLevel::kQuiet : LogLevel::kInfo;
  plan.beside_command = !options.no_command;
  if (options.stdio_forward) {
    plan.stdio = parse_stdio_forward(*options.stdio_forward);
    if (!plan.stdio || !is_sayable(connect_target(*plan.stdio))) return std::nullopt;
    plan.beside_command = true;
    if (!config) return plan;
  }
  if (!config) return options.forwards ? std::nullopt : std::optional(plan);
  plan.family = family_of(config->address_family());
  plan.gateway_ports = config->is_on("gatewayports");
  plan.exit_on_failure = config->is_on("exitonforwardfailure");
  plan.unix_sockets = unix_socket_rules(*config);
  if (config->is_on("clearallforwardings")) return plan;
  auto forwards = configured_forwards(*config);
  if (!forwards) return std::nullopt;
  plan.forwards = std::move(*forwards);
  // There is no ssh to say what they come to.
  if (options.forwards && plan.forwards.empty()) return std::nullopt;
  if (plan.remote_forwards() > kMostRemote) return std::nullopt;
  for (const Forward& forward : plan.forwards) {
    if (is_limited(*config, forward) || !can_be_asked(forward)) return std::nullopt;
  }
  return plan;
}

}  // namespace mcdtp
