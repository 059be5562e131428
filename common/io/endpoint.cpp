#include "common/io/endpoint.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <cstring>
#include <system_error>

#include "common/core/whole_number.h"

namespace mcdtp {
namespace {

sockaddr_in make_v4(in_addr address, in_port_t network_port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr = address;
  out.sin_port = network_port;
  return out;
}

// An interface's number from its name or its digits.
std::optional<std::uint32_t> scope_id(std::string_view zone) {
  if (const unsigned index = if_nametoindex(std::string(zone).c_str()); index != 0) return index;
  return parse_whole<std::uint32_t>(zone);
}

std::optional<sockaddr_in6> parse_v6(std::string_view text, std::uint16_t port) {
  sockaddr_in6 out{};
  out.sin6_family = AF_INET6;
  out.sin6_port = htons(port);
  const std::size_t percent = text.find('%');
  if (percent != std::string_view::npos) {
    const auto scope = scope_id(text.substr(percent + 1));
    if (!scope) return std::nullopt;
    out.sin6_scope_id = *scope;
  }
  const std::string digits(text.substr(0, percent));
  if (inet_pton(AF_INET6, digits.c_str(), &out.sin6_addr) != 1) return std::nullopt;
  return out;
}

}  // namespace

Endpoint::Endpoint() : Endpoint(make_v4({}, 0)) {}

Endpoint::Endpoint(const sockaddr_in& address) {
  const sockaddr_in clean = make_v4(address.sin_addr, address.sin_port);
  std::memcpy(bytes_.data(), &clean, sizeof clean);
}

Endpoint::Endpoint(const sockaddr_in6& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
    in_addr tail{};
    std::memcpy(&tail, address.sin6_addr.s6_addr + 12, sizeof tail);
    *this = Endpoint(make_v4(tail, address.sin6_port));
    return;
  }
  sockaddr_in6 clean = address;
  clean.sin6_family = AF_INET6;
  clean.sin6_flowinfo = 0;
  std::memcpy(bytes_.data(), &clean, sizeof clean);
}

Endpoint Endpoint::any(int family, std::uint16_t port) {
  if (family != AF_INET6) return Endpoint().with_port(port);
  sockaddr_in6 all{};
  all.sin6_port = htons(port);
  return Endpoint(all);
}

std::optional<Endpoint> Endpoint::from_text(std::string_view address, std::uint16_t port) {
  if (address.find('\0') != std::string_view::npos) return std::nullopt;
  in_addr v4_address{};
  if (inet_pton(AF_INET, std::string(address).c_str(), &v4_address) == 1) {
    return Endpoint(make_v4(v4_address, htons(port)));
  }
  const auto v6_address = parse_v6(address, port);
  if (!v6_address) return std::nullopt;
  return Endpoint(*v6_address);
}

std::optional<Endpoint> Endpoint::from_sockaddr(const sockaddr* address, socklen_t size) {
  if (size >= sizeof(sockaddr_in) && address->sa_family == AF_INET) {
    sockaddr_in v4_address;
    std::memcpy(&v4_address, address, sizeof v4_address);
    return Endpoint(v4_address);
  }
  if (size >= sizeof(sockaddr_in6) && address->sa_family == AF_INET6) {
    sockaddr_in6 v6_address;
    std::memcpy(&v6_address, address, sizeof v6_address);
    return Endpoint(v6_address);
  }
  return std::nullopt;
}

sockaddr_in Endpoint::v4() const {
  sockaddr_in out;
  std::memcpy(&out, bytes_.data(), sizeof out);
  return out;
}

sockaddr_in6 Endpoint::v6() const {
  sockaddr_in6 out;
  std::memcpy(&out, bytes_.data(), sizeof out);
  return out;
}

int Endpoint::family() const { return data()->sa_family; }

std::uint16_t Endpoint::port() const { return ntohs(is_v4() ? v4().sin_port : v6().sin6_port); }

bool Endpoint::is_loopback() const {
  if (is_v4()) return (ntohl(v4().sin_addr.s_addr) >> 24) == 127;
  const sockaddr_in6 address = v6();
  return IN6_IS_ADDR_LOOPBACK(&address.sin6_addr);
}

bool Endpoint::is_routable() const {
  if (is_v4()) {
    const std::uint32_t address = ntohl(v4().sin_addr.s_addr);
    const bool of_one_link = address >> 16 == 0xa9fe;  // 169.254.0.0/16
    return address >> 24 != 0 && !is_loopback() && !of_one_link && address >> 29 != 7;
  }
  const sockaddr_in6 of = v6();
  const in6_addr* const address = &of.sin6_addr;
  return !IN6_IS_ADDR_UNSPECIFIED(address) && !is_loopback() && !IN6_IS_ADDR_LINKLOCAL(address) &&
         !IN6_IS_ADDR_MULTICAST(address);
}

Endpoint Endpoint::with_port(std::uint16_t port) const {
  if (is_v4()) return Endpoint(make_v4(v4().sin_addr, htons(port)));
  sockaddr_in6 address = v6();
  address.sin6_port = htons(port);
  return Endpoint(address);
}

sockaddr_in6 Endpoint::as_v6() const {
  if (!is_v4()) return v6();
  const sockaddr_in from = v4();
  sockaddr_in6 mapped{};
  mapped.sin6_family = AF_INET6;
  mapped.sin6_port = from.sin_port;
  mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
  std::memcpy(mapped.sin6_addr.s6_addr + 12, &from.sin_addr, sizeof from.sin_addr);
  return mapped;
}

std::string Endpoint::address_text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_v4()) {
    const sockaddr_in address = v4();
    return inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  }
  const sockaddr_in6 address = v6();
  std::string out = inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
  if (address.sin6_scope_id != 0) out += '%' + std::to_string(address.sin6_scope_id);
  return out;
}

std::string Endpoint::to_string() const {
  const std::string tail = ':' + std::to_string(port());
  return is_v4() ? address_text() + tail : '[' + address_text() + ']' + tail;
}

}  // namespace mcdtp
