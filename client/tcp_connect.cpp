#include "client/tcp_connect.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

namespace mcdtp {
namespace {

int family_number(AddressFamily family) {
  if (family == AddressFamily::kIpv4) return AF_INET;
  return family == AddressFamily::kIpv6 ? AF_INET6 : AF_UNSPEC;
}

void set_option(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

// Returns errno, 0 when the connection stands.
int finish_connecting(int fd, milliseconds patience) {
  pollfd wanted{fd, POLLOUT, 0};
  int ready = 0;
  do {
    ready = poll(&wanted, 1, static_cast<int>(patience.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

struct Attempt {
  std::optional<int> fd;
  int error = 0;
};

Attempt connect_address(const addrinfo& address, milliseconds patience) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return {std::nullopt, errno};
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  int error = connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) error = finish_connecting(fd, patience);
  if (error == 0) return {fd, 0};
  close(fd);
  return {std::nullopt, error};
}

}  // namespace

int connect_tcp(const std::string& host, std::uint16_t port, AddressFamily family, milliseconds patience) {
  const std::string attempt = "connect to " + host + " port " + std::to_string(port) + ": ";
  addrinfo hints{};
  hints.ai_family = family_number(family);
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) throw std::runtime_error(attempt + gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  Attempt last{std::nullopt, EADDRNOTAVAIL};
  for (const addrinfo* address = found; address; address = address->ai_next) {
    last = connect_address(*address, patience);
    if (last.fd) return *last.fd;
  }
  if (last.error == ETIMEDOUT) throw ConnectTimedOut(attempt + std::strerror(last.error));
  throw std::runtime_error(attempt + std::strerror(last.error));
}

void end_after_silence(int socket_fd, unsigned interval_seconds, unsigned count) {
  constexpr unsigned kMostSeconds = 32767, kMostProbes = 127;  // that Linux takes
  constexpr std::int64_t kMostMilliseconds = std::numeric_limits<int>::max();
  if (interval_seconds == 0) return;
  const int interval = static_cast<int>(std::min(interval_seconds, kMostSeconds));
  const int probes = static_cast<int>(std::clamp(count, 1u, kMostProbes));
  // As ssh: a whole interval passes after the last message that may stay without answer.
  const std::int64_t patience = std::int64_t{1000} * interval * (std::int64_t{count} + 1);
  set_option(socket_fd, IPPROTO_TCP, TCP_KEEPIDLE, interval);
  set_option(socket_fd, IPPROTO_TCP, TCP_KEEPINTVL, interval);
  set_option(socket_fd, IPPROTO_TCP, TCP_KEEPCNT, probes);
  set_option(socket_fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
             static_cast<int>(std::min(patience, kMostMilliseconds)));
}

std::string peer_address(int socket_fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> text{};
  if (getpeername(socket_fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  const int failure = getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, text.data(), text.size(),
                                  nullptr, 0, NI_NUMERICHOST);
  return failure == 0 ? text.data() : "";
}

}  // namespace mcdtp
