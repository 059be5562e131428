#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcdtp {

// What is wrong with a numeric address where one of the other family is wanted.
inline constexpr const char* kOtherFamily = "Address family for hostname not supported";

// An IP address and a port: a value, compared and hashed by its bytes.
//
// Invariants:
// 1. The family is IPv4 or IPv6. A v4-mapped IPv6 address is kept as IPv4, so one host has one spelling.
// 2. Bytes that name nothing (padding, flow label) are zero.
class Endpoint {
 public:
  // 0.0.0.0, port 0.
  Endpoint();

  // AF_INET: 0.0.0.0. AF_INET6: "::", which on a UdpSocket takes IPv4 too.
  static Endpoint any(int family, std::uint16_t port = 0);

  // `address` in digits: "10.0.0.1", "fe80::1%eth0". Nothing for a name or another notation.
  [[nodiscard]] static std::optional<Endpoint> from_text(std::string_view address, std::uint16_t port);

  // Nothing where `address` is neither IPv4 nor IPv6, or too short.
  [[nodiscard]] static std::optional<Endpoint> from_sockaddr(const sockaddr* address, socklen_t size);

  int family() const;  // AF_INET or AF_INET6
  bool is_v4() const { return family() == AF_INET; }
  std::uint16_t port() const;
  bool is_loopback() const;  // 127.0.0.0/8 or ::1
  // Of a host that a network can lead to: not the loopback's, of one link, of many hosts, or none.
  bool is_routable() const;

  Endpoint with_port(std::uint16_t port) const;

  // For system calls.
  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(bytes_.data()); }
  socklen_t size() const { return is_v4() ? sizeof(sockaddr_in) : sizeof(sockaddr_in6); }

  // The form in which an IPv6 socket takes this address: an IPv4 one as ::ffff:a.b.c.d.
  sockaddr_in6 as_v6() const;

  std::string address_text() const;  // "10.0.0.1", "::1", "fe80::1%2"
  std::string to_string() const;     // "10.0.0.1:22", "[::1]:22"

  bool operator==(const Endpoint&) const = default;

 private:
  friend struct std::hash<Endpoint>;
  explicit Endpoint(const sockaddr_in& address);
  explicit Endpoint(const sockaddr_in6& address);
  sockaddr_in v4() const;
  sockaddr_in6 v6() const;

  alignas(sockaddr_in6) std::array<std::uint8_t, sizeof(sockaddr_in6)> bytes_{};
};

// The addresses of `host` (a name, or an address in digits), best first, each once. `family`: AF_INET,
// AF_INET6, or AF_UNSPEC for both. Never empty: throws Unresolved where there is none. It blocks as long as
// the resolver does.
std::vector<Endpoint> resolve(const std::string& host, std::uint16_t port, int family);

}  // namespace mcdtp

template <>
struct std::hash<mcdtp::Endpoint> {
  std::size_t operator()(const mcdtp::Endpoint& endpoint) const noexcept {
    return std::hash<std::string_view>{}(
        {reinterpret_cast<const char*>(endpoint.bytes_.data()), endpoint.bytes_.size()});
  }
};
