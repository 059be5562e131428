#pragma once

#include <algorithm>
#include <map>

#include "common/core/channel.h"
#include "common/core/streams.h"

namespace mcdtp {

using Channels = std::map<ChannelId, Channel>;

// Which datagram channel carries data next. Under one controller they take turns of one GSO buffer, so that trains
// stay whole; a channel that has as much in flight as it is worth (Capacity) is passed over until all have, and
// then the least loaded is next: what is sent at once is the controller's decision alone. With a controller each,
// channels need no turns, but the rest holds.
// A channel is late when the others would have carried all there is to send before it delivered its first byte: it
// gets none of that, and never what is sent again.
class Scheduler {
 public:
  static constexpr std::uint64_t kRunBytes = 64 * 1024;
  static constexpr Duration kMinDelay = milliseconds(5);

  // Both outlive this object.
  Scheduler(const Channels& channels, const Streams& streams, Coupling coupling)
      : channels_(channels), streams_(streams), coupling_(coupling) {}

  // `channel` may carry data now. REQUIRES: it is proved, and there are data.
  bool may_carry(const Channel& channel);
  // It may, when its turn comes. REQUIRES: as above.
  bool will_carry(const Channel& channel) const;
  // Nothing that is awaited comes later on this one than on the quickest. REQUIRES: it is proved.
  bool is_quick(const Channel& channel) const;
  // The channel whose turn it is has sent a packet with data.
  void on_sent(std::size_t bytes);
  // Nothing more may be sent for a while: the train is over.
  void on_pause();
  // Compares the channels with the quickest, and gives each its weight. After every change of what is known of them.
  void compare(Channels& channels);
  // How much of what is in flight on the channel counts against its controller's window, see Flow.
  double weight(const Channel& channel) const {
    return coupling_ == Coupling::kCoupled ? channel.capacity.weight() : 1;
  }
  // A controller that knows one path is told what the quickest channel would have shown: what a later one takes longer
  // by is no queue.
  void make_comparable(const Channel& channel, ReportSample& sample) const;
  bool any_steady() const { return any_steady_; }

 private:
  bool holds_turn(const Channel& channel);
  void pass_turn();
  bool usable(const Channel& channel) const;
  bool is_late(const Channel& channel) const;
  // A difference from the quickest that counts.
  bool is_much(Duration delay) const { return delay > std::max<Duration>(kMinDelay, quickest_ / 2); }

  const Channels& channels_;
  const Streams& streams_;
  Coupling coupling_;
  ChannelId turn_ = 0;                   // the datagram channel whose turn it is
  std::uint64_t run_ = 0;                // bytes it has carried in this turn
  std::uint64_t run_limit_ = kRunBytes;  // ... and may carry
  bool all_full_ = false;                // it is beyond its capacity, as all are
  bool any_steady_ = false;
  Duration quickest_{};         // the shortest time in which a steady channel delivers, RTT
  Duration report_interval_{};  // of the channel with the shortest round
  Duration latest_by_{};  // the latest that carries some of the data is later than the quickest; 0: none is
  Duration least_rtt_{};  // that a comparable sample may have
  double rate_ = 0;       // bytes/s of the steady channels together
};

}  // namespace mcdtp
