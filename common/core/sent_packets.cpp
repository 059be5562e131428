#include "common/core/sent_packets.h"

#include <algorithm>

#include "common/core/check.h"

namespace mcdtp {

void Cargo::add(const DataRef& ref) {
  if (data.size == 0) {
    data = ref;
  } else {
    more().data.push_back(ref);
  }
}

SentPacket& SentPackets::add(SentPacket packet) {
  if (packet.state == SentPacket::State::kOutstanding) {
    bytes_outstanding_ += packet.size;
    ++packets_outstanding_;
  }
  return packets_.emplace_back(std::move(packet));
}

SentPacket* SentPackets::find(PacketNumber number) {
  if (number < first_ || number >= next()) return nullptr;
  return &packets_[number - first_];
}

PacketNumber SentPackets::oldest_outstanding() const {
  oldest_outstanding_ = std::max(oldest_outstanding_, first_);
  while (oldest_outstanding_ < next() && !packets_[oldest_outstanding_ - first_].undecided())
    ++oldest_outstanding_;
  return oldest_outstanding_;
}

std::size_t SentPackets::control_outstanding() const {
  std::size_t count = 0;
  for (const SentPacket& packet : packets_) {
    if (packet.undecided() && !packet.requeued_early && packet.cargo.rest)
      count += packet.cargo.rest->control.size();
  }
  return count;
}

void SentPackets::resolve(SentPacket& packet, SentPacket::State state) {
  CHECK(state != SentPacket::State::kOutstanding && state != SentPacket::State::kProbing);
  if (packet.state == SentPacket::State::kOutstanding) {
    bytes_outstanding_ -= packet.size;
    --packets_outstanding_;
  }
  packet.state = state;
}

void SentPackets::forget(Time lost_before) {
  while (!packets_.empty()) {
    const SentPacket& packet = packets_.front();
    if (packet.undecided()) return;
    if (packet.state == SentPacket::State::kLost && packet.lost_at >= lost_before) return;
    packets_.pop_front();
    ++first_;
  }
}

}  // namespace mcdtp
