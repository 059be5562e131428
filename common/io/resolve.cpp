#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "common/io/endpoint.h"
#include "common/io/getent.h"
#include "common/io/unresolved.h"

namespace mcdtp {
namespace {

#ifdef MCDTP_STATIC

// The look-up of this C library would want other libraries of the host that it was built on.
std::vector<Endpoint> look_up(const std::string& host, int family) {
  const auto fits = [&](const Endpoint& endpoint) {
    return family == AF_UNSPEC || endpoint.is_v4() == (family == AF_INET);
  };
  const auto numeric = Endpoint::from_text(host, 0);
  std::vector<Endpoint> found;
  for (const std::string& address : numeric ? std::vector<std::string>{host} : ask_getent(host)) {
    const auto endpoint = Endpoint::from_text(address, 0);
    if (endpoint && fits(*endpoint)) found.push_back(*endpoint);
  }
  return found;
}

#else

Unresolved unresolved(const std::string& host, int error) {
  if (error == EAI_SYSTEM) return {host, std::generic_category().message(errno)};
  const bool is_temporary = error == EAI_AGAIN;
  return {host, gai_strerror(error),
          is_temporary ? Unresolved::Kind::kTemporary : Unresolved::Kind::kUnknown};
}

std::vector<Endpoint> look_up(const std::string& host, int family) {
  addrinfo wanted{};
  wanted.ai_family = family;
  wanted.ai_socktype = SOCK_DGRAM;  // one entry an address, not one a protocol
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &wanted, &list);
  if (error != 0) throw unresolved(host, error);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  std::vector<Endpoint> found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (const auto endpoint = Endpoint::from_sockaddr(entry->ai_addr, entry->ai_addrlen))
      found.push_back(*endpoint);
  }
  return found;
}

#endif

}  // namespace

std::vector<Endpoint> resolve(const std::string& host, std::uint16_t port, int family) {
  std::vector<Endpoint> out;
  for (const Endpoint& found : look_up(host, family)) {
    const Endpoint endpoint = found.with_port(port);
    if (std::find(out.begin(), out.end(), endpoint) == out.end()) out.push_back(endpoint);
  }
  if (out.empty()) throw Unresolved(host, "it has no IP address");
  return out;
}

}  // namespace mcdtp
