#pragma once

#include <memory>
#include <vector>

#include "common/core/packet_header.h"
#include "common/io/descriptor.h"

namespace mcdtp {

// Packets on a byte stream: a record is the packet's length, two bytes, then the packet.
// Records go out whole and in order; what the descriptor does not take now waits here.
class BytePipe {
 public:
  // Of one packet, its header included.
  static constexpr std::size_t kMaxRecord = 16 * 1024;
  // Of the length before it.
  static constexpr std::size_t kPrefix = 2;

  enum class Status {
    kOpen,
    kEnd,     // the other side has ended it
    kBroken,  // an error, or a record that cannot be
  };

  // The same descriptor may serve both ways.
  BytePipe(std::shared_ptr<Descriptor> in, std::shared_ptr<Descriptor> out)
      : in_(std::move(in)), out_(std::move(out)) {}

  // Room for the next packet, of up to kMaxRecord bytes; finish() sends the first `size` of them.
  MutableBytes room() { return next_; }
  void finish(std::size_t size);
  // Writes what waits. kOpen with waiting() left: come back when writable.
  Status flush();
  bool waiting() const { return sent_ < unsent_.size(); }

  // Bytes that came before this object did.
  void feed(Bytes bytes) { unread_.insert(unread_.end(), bytes.begin(), bytes.end()); }
  // Reads once and calls visit(MutableBytes packet) for each packet that is whole.
  // REQUIRES: `visit` does not destroy this object.
  template <class Visitor>
  Status read(Visitor&& visit) {
    const Status status = fill();
    for (MutableBytes packet = next(); !packet.empty(); packet = next()) visit(packet);
    compact();
    return broken_ ? Status::kBroken : status;
  }

  Descriptor& in() { return *in_; }
  Descriptor& out() { return *out_; }

 private:
  static constexpr std::size_t kReadSize = 64 * 1024;

  Status fill();
  MutableBytes next();
  void compact();

  std::shared_ptr<Descriptor> in_;
  std::shared_ptr<Descriptor> out_;
  std::vector<std::uint8_t> next_ = std::vector<std::uint8_t>(kMaxRecord);
  std::vector<std::uint8_t> unsent_;
  std::size_t sent_ = 0;  // of unsent_
  std::vector<std::uint8_t> unread_;
  std::size_t taken_ = 0;  // of unread_
  bool broken_ = false;
};

}  // namespace mcdtp
