#pragma once

#include <map>

#include "common/core/channel.h"

namespace mcdtp {

using Channels = std::map<ChannelId, Channel>;

// Whose turn it is to carry data. Datagram channels take turns of one GSO buffer: trains stay whole, and no channel
// runs far ahead.
class Scheduler {
 public:
  static constexpr std::size_t kRunBytes = 64 * 1024;

  // `channels` outlives this object.
  Scheduler(const Channels& channels, Coupling coupling) : channels_(channels), coupling_(coupling) {}

  // `channel` may carry data now. With a controller each, channels need no turns.
  bool may_carry(const Channel& channel);
  // The channel whose turn it is has sent a packet with data.
  void on_sent(std::size_t bytes);
  // Nothing more may be sent for a while: the train is over.
  void on_pause();

 private:
  bool holds_turn(const Channel& channel);
  void pass_turn();

  const Channels& channels_;
  Coupling coupling_;
  ChannelId turn_ = 0;   // the datagram channel whose turn it is
  std::size_t run_ = 0;  // bytes it has carried in this turn
};

}  // namespace mcdtp
