#include "common/io/interface_mtu.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

namespace mcdtp {
namespace {

constexpr std::size_t kUdpOverIpv4 = 20 + 8;
constexpr std::size_t kUdpOverIpv6 = 40 + 8;

// To ask the kernel by; sends nothing.
class AskingSocket {
 public:
  explicit AskingSocket(int family) : fd_(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  AskingSocket(const AskingSocket&) = delete;
  AskingSocket& operator=(const AskingSocket&) = delete;
  ~AskingSocket() {
    if (is_open()) ::close(fd_);
  }
  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// The address that packets to `to` leave from: connecting a UDP socket sends nothing, but asks for the way.
std::optional<Endpoint> source_for(const Endpoint& to) {
  const AskingSocket socket(to.family());
  sockaddr_storage source{};
  socklen_t size = sizeof source;
  if (!socket.is_open() || ::connect(socket.fd(), to.data(), to.size()) != 0) return std::nullopt;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&source), &size) != 0) return std::nullopt;
  return Endpoint::from_sockaddr(reinterpret_cast<sockaddr*>(&source), size);
}

std::optional<std::string> interface_with(const Endpoint& address) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != address.family()) continue;
    const auto found = Endpoint::from_sockaddr(entry->ifa_addr, sizeof(sockaddr_in6));
    if (found && found->with_port(0) == address.with_port(0)) return entry->ifa_name;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> interface_mtu(const Endpoint& to) {
  // 127.0.0.0/8 is all of it on the interface, which has the address 127.0.0.1 alone.
  const auto source = to.is_loopback() && to.is_v4() ? Endpoint::from_text("127.0.0.1", 0) : source_for(to);
  const auto name = source ? interface_with(*source) : std::nullopt;
  if (!name) return std::nullopt;
  const AskingSocket socket(AF_INET);
  ifreq request{};
  name->copy(request.ifr_name, IFNAMSIZ - 1);
  if (!socket.is_open() || ::ioctl(socket.fd(), SIOCGIFMTU, &request) != 0) return std::nullopt;
  return static_cast<std::size_t>(request.ifr_mtu);
}

std::size_t udp_payload(std::size_t mtu, const Endpoint& to) {
  const std::size_t headers = to.is_v4() ? kUdpOverIpv4 : kUdpOverIpv6;
  return mtu > headers ? mtu - headers : 0;
}

}  // namespace mcdtp
