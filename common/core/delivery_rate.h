#pragma once

#include <algorithm>

#include "common/core/sent_packets.h"

namespace mcdtp {

// How fast a set of channels delivers, measured over the flight of a packet
// (draft-ietf-ccwg-bbr, "Delivery Rate Samples").
class DeliveryRate {
 public:
  // What to keep with a packet sent now. `in_flight`: bytes in flight before it.
  DeliverySnapshot on_sent(Time now, std::uint64_t in_flight) {
    if (in_flight == 0) first_sent_at_ = delivered_at_ = now;
    return {delivered_, delivered_at_, first_sent_at_, delivered_ < limited_until_};
  }

  // The sender has nothing to send although it may: samples of what is in flight say too little.
  void on_application_limited(std::uint64_t in_flight) { limited_until_ = delivered_ + in_flight + 1; }

  void on_covered(Time now, const SentPacket& packet) {
    delivered_ += packet.size;
    delivered_at_ = now;
    if (have_newest_ && packet.sent_at < newest_sent_at_) return;
    have_newest_ = true;
    newest_ = packet.snapshot;
    newest_sent_at_ = packet.sent_at;
  }

  struct Sample {
    double rate = 0;  // bytes/s; 0: none
    std::uint64_t delivered_before = 0;
    bool application_limited = true;
  };
  // Over all that was covered since the last call.
  Sample take_sample() {
    if (!have_newest_) return {};
    have_newest_ = false;
    const Duration flight = std::max(newest_sent_at_ - newest_.first_sent_at, delivered_at_ - newest_.delivered_at);
    first_sent_at_ = newest_sent_at_;
    Sample sample{0, newest_.delivered, newest_.application_limited};
    // Trains that meet a tiny round trip look faster than the path is.
    const Duration interval = std::max<Duration>(flight, milliseconds(1));
    sample.rate = static_cast<double>(delivered_ - newest_.delivered) / to_seconds(interval);
    return sample;
  }

  std::uint64_t delivered() const { return delivered_; }

 private:
  std::uint64_t delivered_ = 0;  // bytes covered, ever
  Time delivered_at_{};
  Time first_sent_at_{};
  std::uint64_t limited_until_ = 0;
  bool have_newest_ = false;
  DeliverySnapshot newest_;
  Time newest_sent_at_{};
};

}  // namespace mcdtp
