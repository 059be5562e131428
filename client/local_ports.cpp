#include "client/local_ports.h"

#include "common/io/unresolved.h"

namespace mcdtp {
namespace {

const std::string kListener = "channel_setup_fwd_listener_tcpip: ";

std::string listen_address(const ListenEnd& end, bool gateway_ports) {
  if (!end.bind) return gateway_ports ? "" : "localhost";
  return *end.bind == "*" ? "" : *end.bind;
}

}  // namespace

void LocalPorts::say(LogLevel level, const std::string& line) const {
  if (plan_.is_said(level)) say_(line);
}

bool LocalPorts::open() {
  if (!opened_) opened_ = open_all();
  return *opened_;
}

bool LocalPorts::open_all() {
  std::size_t wanted = 0;
  for (const Forward& forward : plan_.forwards) {
    if (listen_target(forward)) continue;
    ++wanted;
    auto sockets = listen(forward.listen);
    if (!sockets.empty()) ports_.push_back({&forward, std::move(sockets)});
  }
  const bool fatal = plan_.exit_on_failure && ports_.size() < wanted;
  if (fatal || (wanted > 0 && ports_.empty()))
    say(fatal ? LogLevel::kFatal : LogLevel::kError, "Could not request local forwarding.");
  return !fatal;
}

// As ssh: one address of several is enough, and nothing is said of any but the last.
std::vector<OwnedFd> LocalPorts::listen(const ListenEnd& end) const {
  Listening listening;
  if (end.path.empty()) {
    const std::string address = listen_address(end, plan_.gateway_ports);
    try {
      listening = listen_tcp(listen_addresses(address, end.port, plan_.family, ListenNames::kAsk));
    } catch (const Unresolved& failure) {
      say(LogLevel::kError, kListener + "getaddrinfo(" + address + "): " + failure.reason());
      return {};
    }
  } else {
    listening = listen_unix(end.path, plan_.unix_sockets);
  }
  if (!listening.failure.empty()) say(LogLevel::kError, listening.failure);
  if (listening.sockets.empty() && end.path.empty())
    say(LogLevel::kError, kListener + "cannot listen to port: " + std::to_string(end.port));
  return std::move(listening.sockets);
}

}  // namespace mcdtp
