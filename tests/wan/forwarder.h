#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "common/core/types.h"
#include "tests/wan/flow_log.h"
#include "tests/wan/joiner.h"
#include "tests/wan/path.h"
#include "tests/wan/statistics.h"
#include "tests/wan/train_store.h"
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

// One direction of the link. Runs in a thread of its own and shares nothing with the other direction. Each look:
//   1. what is due is taken out of flight, joined where the same flow's packets follow on one another, and written to
//      the far device (none before its own time, joined ones thus at the time of the last);
//   2. what waits at the near device is read, translated, or refused, where a NAT or a firewall stands, trains are cut into
//      the packets that they are on the wire, and the Path is asked for each packet's fate by itself.
class Forwarder {
 public:
  Forwarder(Tun& from, Tun& to, const Path& path, Duration tick, const Orders& orders)
      : from_(from), to_(to), path_(path), tick_(tick), orders_(orders), joiner_(store_, to.offloads()) {}
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // REQUIRES: run() has not been called.
  void log_flows(Time start, Duration interval) { flows_.emplace(start, interval); }

  // What changes each packet or train as it comes; false where the NAT or the firewall drops it.
  using Translation = std::function<bool(Time, const OffloadHeader&, MutableBytes)>;
  // REQUIRES: run() has not been called.
  void translate_by(Translation translation) { translation_ = std::move(translation); }

  // Returns when it is told to stop; throws when `from` has gone.
  void run();

  // REQUIRES of both: run() has returned.
  Statistics statistics() const;
  const std::optional<FlowLog>& flows() const { return flows_; }

 private:
  struct Later {
    bool operator()(const InFlight& a, const InFlight& b) const {
      return a.due != b.due ? a.due > b.due : a.order > b.order;
    }
  };

  // Both: true when there was something to do.
  bool deliver_due();
  bool take_waiting();
  void write(const Group& group);
  std::size_t take(const OffloadHeader& offload, MutableBytes bytes);
  void take_packet(Time now, InFlight packet, bool unmapped);
  void corrupt(InFlight& packet, std::size_t bit);
  void send_on(InFlight packet);
  void rest(bool worked);

  Tun& from_;
  Tun& to_;
  Path path_;
  const Duration tick_;
  const Orders& orders_;
  Statistics statistics_;
  std::optional<FlowLog> flows_;
  Translation translation_;  // none: nothing stands between
  bool more_waits_ = false;  // the last look ended before the device was empty
  Time next_look_{};
  std::uint64_t next_order_ = 0;
  std::priority_queue<InFlight, std::vector<InFlight>, Later> in_flight_;
  TrainStore store_;
  Joiner joiner_;
};

}  // namespace mcdtp::wan
