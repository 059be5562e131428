#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/core/types.h"
#include "tests/wan/train.h"

namespace mcdtp::wan {

// A TUN device in a network namespace: what the namespace sends to it is read here, what is written here the
// namespace receives as from a network card (IFF_NAPI, so that GRO runs). Where the kernel can, it leaves trains of
// TCP and UDP uncut and checksums open, as to a network card that does both. It vanishes with this object.
// Throws std::runtime_error where the system refuses it.
class Tun {
 public:
  // `name_space`: a name under /run/netns, or a path such as /proc/PID/ns/net. Leaves the calling thread in
  // it.
  Tun(const std::string& name_space, const std::string& device, bool offload);
  ~Tun();
  Tun(const Tun&) = delete;
  Tun& operator=(const Tun&) = delete;

  Offloads offloads() const { return offloads_; }

  // The size of the packet or train read; none when none waits. Throws when the device has gone.
  std::optional<std::size_t> read(OffloadHeader& offload, MutableBytes buffer);
  // An OffloadHeader, then the bytes it speaks of. False: the device is down or would not have it.
  bool write(std::span<const iovec> parts);
  int fd() const { return fd_; }

  // Packets that the device threw away because read() came too late for them.
  std::uint64_t overruns() const;

 private:
  std::string device_;
  int fd_;
  int counters_fd_;  // the namespace's /proc/net/dev
  Offloads offloads_;
};

}  // namespace mcdtp::wan
