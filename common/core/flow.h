#pragma once

#include <memory>

#include "common/core/congestion/congestion.h"
#include "common/core/delivery_rate.h"
#include "common/core/pacer.h"

namespace mcdtp {

// What is sent under one congestion controller: how much is in flight, how fast it leaves, how fast it arrives.
// Datagrams only.
class Flow {
 public:
  // REQUIRES: congestion.
  Flow(Time now, std::unique_ptr<CongestionController> congestion);

  // The window takes more.
  bool has_room() const { return in_flight_ < congestion_->window(); }
  // The pacer lets a packet go now; if not, from ready_at() on.
  bool may_send(Time now) { return pacer_.may_send(now); }
  Time ready_at() const { return pacer_.ready_at(); }

  // What to keep with a packet of `size` bytes sent now; 0: it asks for no report, and is none of the rate.
  DeliverySnapshot on_sent(Time now, std::size_t size);
  // The packet is to be reported. `weight`: see add_in_flight().
  void on_counted(std::size_t size, double weight);
  // A packet goes out that takes the path's time and is not in flight: a probe of the path MTU.
  void on_probe_sent(std::size_t size) { pacer_.on_sent(size); }
  // No data wait for the pacer: what it could let go is not saved up.
  void on_nothing_to_send() { pacer_.stop_waiting(); }
  // Data go out before any path is proved, from now on.
  void on_early(Time now);
  // The next packet takes the last there is to send.
  void on_application_limited();
  // Bytes in flight are counted anew, after reports and verdicts have changed them. A controller knows one RTT, that
  // of the quickest channel: what a later one has in flight for longer counts less, by its `weight` of at most 1.
  void clear_in_flight() { in_flight_ = 0; }
  void add_in_flight(std::uint64_t bytes, double weight);
  // Bytes declared lost, and bytes so declared that have arrived after all: before take_rate() of the same
  // report.
  void on_lost(std::uint64_t bytes) { delivery_.on_lost(bytes); }
  void on_found(std::uint64_t bytes) { delivery_.on_found(bytes); }
  // Fills in the rate. `newest`: the newest packet that a report covers, which gave the sample its RTT.
  void take_rate(const SentPacket& newest, ReportSample& sample);
  // `sample` lacks but what the flow knows itself.
  void on_report(ReportSample& sample);
  void on_silence(Time now);

  // Bytes/s of datagrams.
  double pacing_rate() const { return congestion_->pacing_rate(); }
  void forbid_trains() { congestion_->forbid_trains(); }
  bool sends_trains() const { return congestion_->sends_trains(); }
  bool is_starting() const { return congestion_->is_starting(); }
  // Bytes that may be in flight.
  std::uint64_t window() const { return congestion_->window(); }

 private:
  void set_pace(Time now);

  std::unique_ptr<CongestionController> congestion_;
  DeliveryRate delivery_;
  Pacer pacer_;
  std::uint64_t in_flight_ = 0;         // bytes
  std::uint64_t datagram_size_ = 1200;  // bytes, of a full packet now
  Duration rtt_ = milliseconds(100);    // the smallest, of the channels that were reported of late
};

}  // namespace mcdtp
