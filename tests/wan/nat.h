#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "common/core/types.h"
#include "tests/wan/train.h"

namespace mcdtp::wan {

// A NAT in front of the near host, for UDP alone: each of the near host's ports is another one to the far host, any
// far port may answer to it, and after some silence both ways it is forgotten: the next packet out gets a new port, and
// what comes in to the old one is unmapped. The near host's address stays. Both directions may call it at once.
class Nat {
 public:
  // The first port given; then each next one, round from the last to here.
  static constexpr std::uint16_t kFirstPort = 20000;

  // `forget_after` of silence a mapping is gone.
  explicit Nat(Duration forget_after) : forget_after_(forget_after) {}

  // What stands for the near host's `port` at `now`. IPv4 and IPv6 are told apart.
  std::uint16_t map_out(Time now, bool ipv6, std::uint16_t port);
  // The near host's port behind `port`; nothing where there is no mapping.
  std::optional<std::uint16_t> map_in(Time now, bool ipv6, std::uint16_t port);

  // Both put the other port into a packet or train, as it is read from a device, and set its checksum right. What is
  // no UDP passes. False: unmapped, and nothing was changed.
  void translate_out(Time now, const OffloadHeader& offload, MutableBytes bytes);
  bool translate_in(Time now, const OffloadHeader& offload, MutableBytes bytes);

  // Made so far.
  std::uint64_t mappings() const { return made_; }

 private:
  struct Mapping {
    bool ipv6 = false;
    std::uint16_t inside = 0;
    std::uint16_t outside = 0;
    Time last_use{};
  };

  void forget(Time now);
  std::uint16_t free_port();

  const Duration forget_after_;
  std::mutex mutex_;
  std::vector<Mapping> live_;  // few: one for each socket of the near host
  std::uint16_t next_port_ = kFirstPort;
  std::uint64_t made_ = 0;
};

}  // namespace mcdtp::wan
