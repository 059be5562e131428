#pragma once

#include <optional>

#include "common/core/check.h"
#include "common/core/ranges.h"
#include "common/core/stream_buffer.h"
#include "common/core/types.h"

namespace mcdtp {

// The receiving half of one stream: takes bytes in any order, within its credit, and gives them out in order.
class RecvStream {
 public:
  // What came of a frame; anything but kTaken changed nothing.
  enum class Verdict : std::uint8_t { kTaken, kOverCredit, kAgainstFinalSize };
  struct Outcome {
    Verdict verdict = Verdict::kTaken;
    // By how much the highest offset seen rose: what session credit counts.
    std::uint64_t highest_rose_by = 0;
  };

  RecvStream(BlockPool& pool, std::uint64_t credit) : buffer_(pool), credit_(credit) {}

  [[nodiscard]] Outcome on_data(std::uint64_t offset, Bytes data);
  // Takes no credit: the end may be known before the bytes that lead there may be sent.
  [[nodiscard]] Outcome on_fin(std::uint64_t final_size);
  // The sender gave up after `final_size` bytes: nothing more is given out. Too late, and without effect,
  // when the whole stream is in.
  [[nodiscard]] Outcome on_reset(std::uint64_t final_size);

  // In-order bytes ready now, up to the end of a block; empty if none. Valid until the next call.
  Bytes readable() const { return readable_at(0); }
  // The same, from `skip` bytes on. REQUIRES: skip <= readable_size().
  Bytes readable_at(std::size_t skip) const;
  std::uint64_t readable_size() const { return in_order_ - buffer_.base(); }
  // The reader took `size` of them. REQUIRES: size <= readable_size().
  void consume(std::size_t size) {
    CHECK(size <= readable_size());
    buffer_.release_below(buffer_.base() + size);
    // Where nothing is left, no block is kept.
    if (buffer_.base() == highest_) buffer_.trim(highest_);
  }

  void raise_credit(std::uint64_t limit) { credit_ = limit > credit_ ? limit : credit_; }
  std::uint64_t consumed() const { return buffer_.base(); }
  std::uint64_t highest() const { return highest_; }
  // A sender that has not sent all up to the end may still need credit, although the end is known.
  bool wants_credit() const { return !final_size_ || highest_ < *final_size_; }
  // Every byte up to the final size is in.
  bool all_received() const { return final_size_ && in_order_ == *final_size_; }
  // ... and has been given out.
  bool all_consumed() const { return final_size_ && consumed() == *final_size_; }
  bool is_reset() const { return reset_; }
  // Whoever has many streams bounds their sum, see MemoryShares::max_holes().
  std::size_t holes() const { return above_.size(); }

 private:
  std::optional<Verdict> refuse(std::uint64_t end) const;
  std::uint64_t raise_highest(std::uint64_t end);

  StreamBuffer buffer_;         // its base: what the reader has taken
  std::uint64_t in_order_ = 0;  // all below has come
  RangeSet above_;              // what has come above in_order_
  std::uint64_t highest_ = 0;   // one past the last byte seen
  std::uint64_t credit_;
  std::optional<std::uint64_t> final_size_;
  bool reset_ = false;
};

}  // namespace mcdtp
