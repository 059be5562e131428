#pragma once

#include "common/core/channel.h"
#include "common/core/streams.h"

namespace mcdtp {

// Fills the frames of one packet, most urgent first, and keeps account of what is in it.
class Packetizer {
 public:
  explicit Packetizer(MutableBytes room) : out_(room) {}

  void ping();
  // REQUIRES: room_for_report().
  void report(Time now, Channel& channel);
  void floor(Time now, Channel& channel);
  // As many as fit.
  void control(ControlQueue& queue);
  void data(Streams& streams);
  // What another packet carries, all of it; false: it does not fit, or is not held any longer, and nothing was
  // written.
  [[nodiscard]] bool copy(Streams& streams, const Cargo& cargo);
  // Padding up to `size` bytes of frames.
  void pad(std::size_t size);

  bool room_for_report() const { return out_.remaining() >= kMinReportSize; }
  bool empty() const { return out_.size() == 0; }
  bool has_data() const { return has_data_; }
  // The packet wants a report of its own.
  bool asks() const { return asks_; }
  bool carries_requeued() const { return carries_requeued_; }
  std::size_t size() const { return out_.size(); }
  Cargo take_cargo() { return std::move(cargo_); }

 private:
  void put(Streams& streams, const Streams::Piece& piece);

  Writer out_;
  Cargo cargo_;
  bool asks_ = false;
  bool has_data_ = false;
  bool carries_requeued_ = false;
};

}  // namespace mcdtp
