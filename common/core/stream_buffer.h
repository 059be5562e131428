#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "common/core/types.h"

namespace mcdtp {

// Bytes of a stream by absolute offset, kept in blocks, so that none is moved once it is written.
// A block is made when it is first touched and given back when the base has passed it; a few are kept for the
// next need, for fresh memory costs a page fault for every 4 KiB.
class StreamBuffer {
 public:
  static constexpr std::size_t kBlockSize = 64 * 1024;

  // REQUIRES: offset >= base().
  void write(std::uint64_t offset, Bytes data);
  // REQUIRES: the bytes were written and not released.
  void read(std::uint64_t offset, MutableBytes out) const;
  // The bytes at `offset` up to `max` or the end of their block. REQUIRES: as read().
  Bytes contiguous(std::uint64_t offset, std::size_t max) const;
  // Room at `offset` up to the end of its block: at least one byte, to be filled by the caller.
  MutableBytes room(std::uint64_t offset);
  // Forgets what lies below `offset`. REQUIRES: offset >= base().
  void release_below(std::uint64_t offset);

  std::uint64_t base() const { return base_; }
  std::size_t blocks() const { return blocks_.size(); }

 private:
  static constexpr std::size_t kMaxSpares = 16;
  using Block = std::array<std::uint8_t, kBlockSize>;

  std::size_t index_of(std::uint64_t offset) const;
  Block& block_at(std::uint64_t offset);
  std::unique_ptr<Block> new_block();

  std::uint64_t base_ = 0;
  std::deque<std::unique_ptr<Block>> blocks_;  // blocks_[0] holds base_; a null one was never touched
  std::vector<std::unique_ptr<Block>> spares_;
};

}  // namespace mcdtp
