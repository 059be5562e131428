#pragma once

#include <map>

#include "common/core/channel.h"

namespace mcdtp {

// Which packets go a second time, on another channel, before any verdict on them: only when there is nothing else to
// send, so that a copy takes nobody's turn. Two kinds are worth it:
//   a tail     the newest packet of a channel: nothing that follows would show its loss, and that would cost a probe
//              time-out. Where packets are known to get lost, or hardly anything is in flight
//   an overdue packet, which the helper would have delivered twice by now, or will before it comes
// The helper of a channel is the quickest of the others.
// Guarantee: bytes copied <= kFree + bytes sent / kShare, not counting what goes while no more than kLone is in
// flight, nor what has all but stopped: it is three times overdue. No packet is copied twice,
// but where one of the two is lost, the other is as good as new.
class Copies {
 public:
  static constexpr std::uint64_t kFree = 64 * 1024;
  static constexpr std::uint64_t kShare = 400;
  static constexpr std::uint64_t kLone = 4 * 1200;
  static constexpr double kLossy = 0.002;

  using Channels = std::map<ChannelId, Channel>;
  // `channels` outlives this object.
  explicit Copies(const Channels& channels) : channels_(channels) {}

  // A packet of `size` bytes was sent.
  void on_sent(std::uint64_t size) { sent_ += size; }
  // It was a copy.
  void on_copied(std::uint64_t size);
  // Packets covered and lost by a report.
  void on_report(std::size_t covered, std::size_t lost);

  // The packet that `helper` is to copy now.
  std::optional<PacketName> next(Time now, const Channel& helper) const;
  // When the first packet is worth a copy, on a helper whose flow takes it; kNever: none.
  Time due() const;

 private:
  struct Candidate {
    PacketName packet;
    Time due;
  };
  // The packet of `channel` that is first worth a copy on `helper`.
  // `lone`: is_lone(), found once for all channels.
  std::optional<Candidate> candidate(const Channel& channel, const Channel& helper, bool lone) const;
  std::optional<Candidate> tail(const Channel& channel, const Channel& helper) const;
  // `within`: the budget.
  std::optional<Candidate> overdue(const Channel& channel, const Channel& helper, bool within) const;
  // The two quickest channels; a channel is helped by the quicker that it is not itself.
  struct Helpers {
    const Channel* quickest = nullptr;
    const Channel* second = nullptr;
    const Channel* of(const Channel& channel) const { return &channel == quickest ? second : quickest; }
  };
  Helpers helpers() const;
  std::uint64_t in_flight() const;
  bool is_lone() const { return in_flight() <= kLone; }

  const Channels& channels_;
  std::uint64_t sent_ = 0;    // bytes, ever
  std::uint64_t copied_ = 0;  // bytes, ever, but lone ones
  double loss_ = 0;           // share of the packets of late
};

}  // namespace mcdtp
