#include "tests/wan/tun.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace mcdtp::wan {
namespace {

[[noreturn]] void fail(const std::string& attempt) {
  throw std::runtime_error(attempt + ": " + std::strerror(errno));
}

int open_or_throw(const std::string& path, int flags) {
  int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) fail("cannot open " + path);
  return fd;
}

void enter(const std::string& name_space) {
  bool is_path = name_space.find('/') != std::string::npos;
  int fd = open_or_throw(is_path ? name_space : "/run/netns/" + name_space, O_RDONLY);
  int result = ::setns(fd, CLONE_NEWNET);
  ::close(fd);
  if (result != 0) fail("cannot enter network namespace " + name_space);
}

int open_tun(const std::string& device) {
  int fd = open_or_throw("/dev/net/tun", O_RDWR | O_NONBLOCK);
  ifreq request{};
  device.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_NAPI | IFF_VNET_HDR;
  if (::ioctl(fd, TUNSETIFF, &request) == 0) return fd;
  ::close(fd);
  fail("cannot make TUN device " + device);
}

// What the kernel does not know it refuses as a whole, hence the most first.
Offloads set_offloads(int fd) {
  constexpr unsigned kUdpSegments = 0x60;  // TUN_F_USO4 and TUN_F_USO6, not in the headers of older kernels
  constexpr unsigned kTcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
  if (::ioctl(fd, TUNSETOFFLOAD, kTcp | kUdpSegments) == 0) return {true, true};
  return {::ioctl(fd, TUNSETOFFLOAD, kTcp) == 0, false};
}

}  // namespace

Tun::Tun(const std::string& name_space, const std::string& device, bool offload)
    : device_(device), fd_(-1), counters_fd_(-1) {
  enter(name_space);
  fd_ = open_tun(device);
  if (offload) offloads_ = set_offloads(fd_);
  counters_fd_ = ::open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
}

Tun::~Tun() {
  ::close(fd_);
  if (counters_fd_ >= 0) ::close(counters_fd_);
}

std::optional<std::size_t> Tun::read(OffloadHeader& offload, MutableBytes buffer) {
  std::array<iovec, 2> parts{{{&offload, sizeof offload}, {buffer.data(), buffer.size()}}};
  ssize_t size = ::readv(fd_, parts.data(), parts.size());
  if (size >= 0) return static_cast<std::size_t>(size) - sizeof offload;
  if (errno == EAGAIN || errno == EINTR) return std::nullopt;
  fail("cannot read from TUN device " + device_);
}

bool Tun::write(std::span<const iovec> parts) {
  return ::writev(fd_, parts.data(), static_cast<int>(parts.size())) >= 0;
}

std::uint64_t Tun::overruns() const {
  std::array<char, 16384> text{};
  ssize_t size = counters_fd_ < 0 ? 0 : ::pread(counters_fd_, text.data(), text.size() - 1, 0);
  std::istringstream lines(size > 0 ? text.data() : "");
  for (std::string line; std::getline(lines, line);) {
    std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.find(device_) > colon) continue;
    // Eight columns of what the namespace received, then its bytes and packets sent, errors, drops.
    std::istringstream columns(line.substr(colon + 1));
    std::uint64_t value = 0;
    for (int column = 0; column < 12; ++column) columns >> value;
    return value;
  }
  return 0;
}

}  // namespace mcdtp::wan
