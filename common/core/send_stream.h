#pragma once

#include <algorithm>
#include <optional>

#include "common/core/ranges.h"
#include "common/core/stream_buffer.h"
#include "common/core/types.h"

namespace mcdtp {

// The sending half of one stream: bytes are kept from the moment they are written until a report covers them.
// What is to be sent is two sets: what was sent and must be sent again, and what was never sent.
// Invariants: covered and requeued are disjoint; both lie below next_offset <= end.
class SendStream {
 public:
  // Bytes to put into one packet. `again`: they were sent before.
  struct Piece {
    std::uint64_t offset = 0;
    std::size_t size = 0;
    bool again = false;
  };

  explicit SendStream(BlockPool& pool) : buffer_(pool) {}

  // Room for the writer after `skip` bytes of it, at least one byte. REQUIRES: writable().
  MutableBytes room(std::size_t skip = 0) { return buffer_.room(end_ + skip); }
  // That room is there already, without a new block.
  bool has_block(std::size_t skip = 0) const { return buffer_.has_block(end_ + skip); }
  // The writer filled `size` bytes of room().
  void wrote(std::size_t size);
  void write(Bytes data);
  // No bytes follow.
  void finish();
  // Gives up: nothing more is kept or sent but the RESET itself.
  void reset();
  bool writable() const { return !finished_ && !reset_; }

  // The next bytes to send, at most `max_size`; new ones only below the peer's credit and at most `session_room`.
  // They count as sent. REQUIRES: max_size > 0.
  std::optional<Piece> take(std::size_t max_size, std::uint64_t session_room);
  // Where the next piece would start.
  std::uint64_t next_piece() const { return requeued_.empty() ? next_offset_ : requeued_.front().begin; }
  void copy(const Piece& piece, MutableBytes out) const { buffer_.read(piece.offset, out); }
  // Whether this byte, sent before, is still kept, and with it all that follow.
  bool holds(std::uint64_t offset) const { return offset >= buffer_.base() && offset < next_offset_; }
  // A report covers these bytes.
  void covered(std::uint64_t offset, std::uint64_t size);
  // The packet that carried them was lost, or is feared to be.
  void requeue(std::uint64_t offset, std::uint64_t size);
  // They need not go again after all.
  void withdraw(std::uint64_t offset, std::uint64_t size) { requeued_.subtract(offset, offset + size); }
  // The peer has the whole stream (success report).
  void complete();

  void raise_credit(std::uint64_t limit) { credit_ = limit > credit_ ? limit : credit_; }
  std::uint64_t credit() const { return credit_; }
  // New bytes that the peer takes now.
  std::uint64_t credit_left() const { return credit_ - std::min(credit_, next_offset_); }

  bool has_requeued() const { return !requeued_.empty(); }
  bool has_new() const { return next_offset_ < end_; }
  bool has_new_in_credit() const { return next_offset_ < end_ && next_offset_ < credit_; }
  // Written and never sent, in bytes.
  std::uint64_t unsent() const { return end_ - next_offset_; }
  // Held in memory, in bytes.
  std::uint64_t buffered() const { return end_ - buffer_.base(); }
  bool all_covered() const { return buffer_.base() == end_; }
  bool is_reset() const { return reset_; }
  // One past the last byte written; once finished, the final size.
  std::uint64_t end() const { return end_; }
  std::uint64_t next_offset() const { return next_offset_; }

 private:
  std::optional<Piece> take_requeued(std::size_t max_size);
  void release_below(std::uint64_t offset);

  StreamBuffer buffer_;  // its base: all below is covered
  RangeSet covered_;     // above the base
  RangeSet requeued_;
  std::uint64_t next_offset_ = 0;  // the first byte never sent
  std::uint64_t end_ = 0;
  std::uint64_t credit_ = 0;  // the peer takes bytes below this
  bool finished_ = false;
  bool reset_ = false;
};

}  // namespace mcdtp
