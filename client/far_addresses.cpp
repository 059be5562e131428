#include "client/far_addresses.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <stdexcept>

#include "common/io/side_thread.h"

namespace mcdtp {
namespace {

int family_of(AddressFamily family) {
  return family == AddressFamily::kIpv4 ? AF_INET : family == AddressFamily::kIpv6 ? AF_INET6 : AF_UNSPEC;
}

// A kernel or a sandbox may know no IPv6 at all; without an address in it there is one.
bool has_ipv6() {
  const int fd = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno != EAFNOSUPPORT;
  ::close(fd);
  return true;
}

}  // namespace

// Shared with the thread, which may outlive us.
struct FarAddresses::Found {
  std::mutex mutex;
  std::vector<Endpoint> addresses;
};

FarAddresses::FarAddresses(const std::string& host_name, AddressFamily family)
    : found_(std::make_shared<Found>()) {
  // Without a thread the address of the greeting is what is left, as where it is not a name here: behind a proxy.
  start_side_thread([found = found_, host_name, family] {
    try {
      auto addresses = resolve(host_name, 0, family_of(family));
      const std::lock_guard lock(found->mutex);
      found->addresses = std::move(addresses);
    } catch (const std::runtime_error&) {
    }
  });
}

std::vector<Endpoint> FarAddresses::candidates(const std::string& to_server, const std::string& to_us) const {
  std::vector<Endpoint> result;
  const auto add = [&](const Endpoint& address) {
    if (std::find(result.begin(), result.end(), address) == result.end()) result.push_back(address);
  };
  const auto greeted = Endpoint::from_text(to_server, 0);
  const auto peer = Endpoint::from_text(to_us, 0);
  if (!greeted) return result;
  // The far side may not be one to trust: it is not to send us to what only we can reach.
  if (greeted->is_routable() || (peer && !peer->is_routable())) add(*greeted);
  if (peer) add(*peer);
  const std::lock_guard lock(found_->mutex);
  for (const Endpoint& address : found_->addresses) add(address);
  if (!has_ipv6()) std::erase_if(result, [](const Endpoint& address) { return !address.is_v4(); });
  return result;
}

}  // namespace mcdtp
