#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "common/core/wire.h"

namespace mcdtp {

// Which bytes of a stream a packet carried.
struct DataRef {
  StreamId stream = 0;
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
};

// What a packet carried, so that it can be released when a report covers it, or sent again.
// Nearly every packet holds one run of one stream; the rest is behind a pointer.
struct Cargo {
  struct Rest {
    std::vector<DataRef> data;
    std::vector<ControlFrame> control;
  };
  DataRef data;  // size 0: none
  std::unique_ptr<Rest> rest;

  void add(const DataRef& ref);
  void add(const ControlFrame& frame) { more().control.push_back(frame); }
  bool empty() const { return data.size == 0 && !rest; }
  template <typename Visitor>
  void for_each_data(Visitor&& visit) const {
    if (data.size > 0) visit(data);
    if (!rest) return;
    for (const DataRef& ref : rest->data) visit(ref);
  }

 private:
  Rest& more() { return *(rest ? rest : rest = std::make_unique<Rest>()); }
};

// A packet that arrived: when it was sent, when it arrived (by our clock, the way back included), and how much was
// sent up to it, on all channels, in bytes.
struct ArrivalMark {
  std::uint64_t sent = 0;
  Time sent_at{};
  Time arrived_at{};
};

// Where delivery stood when a packet was sent, see DeliveryRate.
struct DeliverySnapshot {
  std::uint64_t sent = 0;   // bytes sent on all channels, this packet included
  std::int64_t lost = 0;    // bytes declared lost by then and not found
  ArrivalMark arrived;      // the newest packet known to have arrived
  std::uint32_t train = 0;  // bytes sent at once, this packet the last of them
  bool application_limited = false;
  bool host_limited = false;
  bool quiet = false;  // sent while the congestion controller was quiet()
};

// One packet of one channel.
struct PacketName {
  ChannelId channel = 0;
  PacketNumber number = 0;
};

struct SentPacket {
  // kSilent: asked for no report, so it is never lost. kProbing: a probe of the path MTU; it is covered or lost in
  // time, but nobody waits for it. kCovered, kLost and kSilent are resolved.
  enum class State : std::uint8_t { kOutstanding, kProbing, kCovered, kLost, kSilent };

  Time sent_at{};
  Time lost_at{};          // when it was declared lost,
  bool overtaken = false;  // for later ones had come
  std::uint32_t size = 0;  // bytes of the datagram or record
  PathId path = 0;
  State state = State::kOutstanding;
  bool mtu_probe = false;
  bool requeued_early = false;  // its cargo was queued again, by a probe time-out or a verdict
  bool again = false;           // of its bytes some went before; not of a copy
  bool copied = false;          // its cargo went a second time, or cannot
  Cargo cargo;
  DeliverySnapshot snapshot;
  std::optional<PacketName> twin;  // the packet that carries the same cargo

  // There is no verdict on it yet.
  bool undecided() const { return state == State::kOutstanding || state == State::kProbing; }
};

// The packets of one channel that are not yet forgotten, by number, without gaps.
class SentPackets {
 public:
  // The number the next packet gets.
  PacketNumber next() const { return first_ + packets_.size(); }
  SentPacket& add(SentPacket packet);
  // nullptr: forgotten, or never sent.
  SentPacket* find(PacketNumber number);
  // A resolved packet changes the sums, so states change only here. REQUIRES: state is kCovered, kLost or kSilent.
  void resolve(SentPacket& packet, SentPacket::State state);
  // Forgets resolved packets from the front; lost ones only once they were declared so before `lost_before`,
  // so that a late report of them can still be noticed.
  void forget(Time lost_before);

  PacketNumber first() const { return first_; }
  // The oldest number on which there is no verdict, else next(). Passes over each resolved packet once.
  PacketNumber oldest_outstanding() const;
  // Bytes sent, asked for a report, not resolved.
  std::uint64_t bytes_outstanding() const { return bytes_outstanding_; }
  std::uint64_t packets_outstanding() const { return packets_outstanding_; }
  // Control frames in packets that are outstanding and whose cargo was not queued again. Looks at each packet.
  std::size_t control_outstanding() const;
  std::deque<SentPacket>& packets() { return packets_; }
  const std::deque<SentPacket>& packets() const { return packets_; }

 private:
  PacketNumber first_ = 0;
  mutable PacketNumber oldest_outstanding_ = 0;  // nothing below it is undecided; moved up when asked
  std::deque<SentPacket> packets_;               // packets_[i] has number first_ + i
  std::uint64_t bytes_outstanding_ = 0;
  std::uint64_t packets_outstanding_ = 0;
};

}  // namespace mcdtp
