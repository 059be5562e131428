#pragma once

#include <algorithm>

#include "common/core/sent_packets.h"

namespace mcdtp {

// How fast the path takes what is sent, over all channels that share this object.
// Between two packets P and Q that arrived, everything sent between them has arrived too, or was lost on the
// way:
//   rate = bytes sent after P up to Q / max(time between their sendings, time between their arrivals)
// Bytes lost count as taken: a link that loses at random has carried them; who judges loss takes them off
// again. No report's timing is in it, so the samples do not jump when reports of many channels come in a
// cluster; a sample never says more than was sent, nor more than a full bottleneck let through.
class DeliveryRate {
 public:
  // Trains that meet a tiny round trip look faster than the path is.
  static constexpr Duration kMinSpan = milliseconds(1);

  // What to keep with a packet of `size` bytes sent now. `in_flight`: bytes in flight before it.
  DeliverySnapshot on_sent(Time now, std::size_t size, std::uint64_t in_flight) {
    // Silence is not the path's fault. What follows it is measured over the round trip as well: a short train
    // shows how fast it was sent, not what the path takes.
    if (in_flight == 0) arrived_ = {sent_, now, now};
    sent_ += size;
    return {sent_,
            lost_,
            arrived_,
            train_up_to(now, size),
            arrived_.sent < limited_until_,
            arrived_.sent < host_limited_until_};
  }

  // The packet about to be sent takes the last there is to send: no span across this point says what the path
  // can do.
  void on_application_limited() { limited_until_ = sent_ + 1; }
  // Before the packet about to be sent the host stood still: likewise, but it is our own doing.
  void on_host_limited() { host_limited_until_ = sent_ + 1; }

  // This much more was declared lost, in bytes. Before on_arrived() for what the same report covers.
  void on_lost(std::uint64_t bytes) { lost_ += static_cast<std::int64_t>(bytes); }

  // What was declared lost, here or with the channel that carried it, has arrived after all.
  void on_found(std::uint64_t bytes) { lost_ -= static_cast<std::int64_t>(bytes); }

  struct Sample {
    double rate = 0;     // bytes/s; 0: none
    double loss = 0;     // share of these bytes that was lost
    ArrivalMark newest;  // this packet
    bool application_limited = true;
    bool host_limited = false;
  };
  // The newest packet that a report covers; `rtt`: from its sending to its arrival there and the report's way
  // back.
  Sample on_arrived(const SentPacket& packet, Duration rtt) {
    const DeliverySnapshot& snapshot = packet.snapshot;
    const ArrivalMark mark{snapshot.sent, packet.sent_at, packet.sent_at + rtt};
    if (mark.sent > arrived_.sent) arrived_ = mark;
    const Duration span = std::max({Duration(kMinSpan), mark.sent_at - snapshot.arrived.sent_at,
                                    mark.arrived_at - snapshot.arrived.arrived_at});
    const auto bytes = static_cast<double>(mark.sent - snapshot.arrived.sent);
    const auto lost = static_cast<double>(lost_ - snapshot.lost);
    const double loss = bytes > 0 ? std::clamp(lost / bytes, 0.0, 1.0) : 0;
    return {bytes / to_seconds(span), loss, mark, snapshot.application_limited, snapshot.host_limited};
  }

  // Bytes sent, ever.
  std::uint64_t sent() const { return sent_; }

 private:
  // What hosts need to hand over a train, and less than lies between two.
  static constexpr Duration kAtOnce = microseconds(100);

  std::uint32_t train_up_to(Time now, std::size_t size) {
    if (now - train_began_ > kAtOnce) {
      train_began_ = now;
      train_ = 0;
    }
    return train_ += static_cast<std::uint32_t>(size);
  }

  std::uint64_t sent_ = 0;
  std::int64_t lost_ = 0;  // may fall below 0: on_found()
  ArrivalMark arrived_;    // the newest packet that arrived
  std::uint64_t limited_until_ = 0;
  std::uint64_t host_limited_until_ = 0;
  Time train_began_{};
  std::uint32_t train_ = 0;  // bytes
};

}  // namespace mcdtp
