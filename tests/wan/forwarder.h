#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "common/core/types.h"
#include "tests/wan/path.h"
#include "tests/wan/statistics.h"
#include "tests/wan/tun.h"

namespace mcdtp::wan {

Time clock_now();

// What the main thread tells the two forwarders. `stop_fd` becomes readable with `stop`, to wake them.
struct Orders {
  std::atomic<bool> stop{false};
  std::atomic<bool> cut{false};
  std::atomic<bool> block_udp{false};
  int stop_fd;
};

// One direction of the link: reads packets from one device, asks the Path for their fate and writes them to
// the other when they are due. Runs in a thread of its own and shares nothing with the other direction.
class Forwarder {
 public:
  Forwarder(Tun& from, Tun& to, const Path& path, Duration tick, const Orders& orders)
      : from_(from), to_(to), path_(path), tick_(tick), orders_(orders) {}

  // Returns when it is told to stop; throws when `from` has gone.
  void run();

  // REQUIRES: run() has returned.
  Statistics statistics() const;

 private:
  static constexpr std::size_t kMaxPacket = 9216;  // enough for device MTUs up to 9,000
  using Buffer = std::unique_ptr<std::uint8_t[]>;
  struct InFlight {
    Time due;
    std::uint64_t order;  // keeps those due at the same time as they came
    std::size_t buffer;
    std::size_t size;
    bool operator>(const InFlight& other) const {
      return due != other.due ? due > other.due : order > other.order;
    }
  };

  // Both: true when there was something to do.
  bool deliver_due();
  bool take_waiting();
  void take(Time now, std::size_t buffer, std::size_t size);
  void send_on(const Fate& fate, std::size_t buffer, std::size_t size);
  void rest(bool worked);
  std::size_t free_buffer();

  Tun& from_;
  Tun& to_;
  Path path_;
  const Duration tick_;
  const Orders& orders_;
  Statistics statistics_;
  bool more_waits_ = false;  // the last look ended before the device was empty
  Time next_look_{};
  std::uint64_t next_order_ = 0;
  std::priority_queue<InFlight, std::vector<InFlight>, std::greater<>> in_flight_;
  std::vector<Buffer> buffers_;
  std::vector<std::size_t> free_;  // indices into buffers_
};

}  // namespace mcdtp::wan
