#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "common/core/types.h"

namespace mcdtp {

// The blocks of all buffers that share it: counts those in use, and keeps a few for the next need, for fresh memory
// costs a page fault for every 4 KiB. When few are left of many the system gets back what they had. Outlives its buffers.
class BlockPool {
 public:
  static constexpr std::size_t kBlockSize = 4 * 1024;
  // Blocks kept: 768 KiB, somewhat more than one millisecond's reports let go at 4 Gbit/s.
  static constexpr std::size_t kMaxSpares = 192;
  // Blocks that are worth giving back to the system: 16 MiB.
  static constexpr std::uint64_t kMany = 4096;
  using Block = std::array<std::uint8_t, kBlockSize>;

  std::unique_ptr<Block> take();
  void give(std::unique_ptr<Block> block);
  // Bytes of blocks in use.
  std::uint64_t in_use() const { return in_use_ * kBlockSize; }

 private:
  void give_back_memory();

  std::uint64_t in_use_ = 0;
  std::uint64_t most_in_use_ = 0;  // since memory was given back
  std::vector<std::unique_ptr<Block>> spares_;
};

// Bytes of a stream by absolute offset, kept in blocks, so that none is moved once it is written.
// A block is made when it is first touched and given back when the base has passed it.
class StreamBuffer {
 public:
  static constexpr std::size_t kBlockSize = BlockPool::kBlockSize;

  explicit StreamBuffer(BlockPool& pool) : pool_(&pool) {}
  ~StreamBuffer() { clear(); }
  StreamBuffer(StreamBuffer&&) = default;
  StreamBuffer& operator=(StreamBuffer&&) = delete;

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
  // Gives back the blocks that hold nothing below `end`. REQUIRES: end >= base().
  void trim(std::uint64_t end);

  std::uint64_t base() const { return base_; }
  // Blocks that hold something.
  std::size_t blocks() const;
  // A block is there that has room at `offset`.
  bool has_block(std::uint64_t offset) const;

 private:
  using Block = BlockPool::Block;

  std::size_t index_of(std::uint64_t offset) const;
  Block& block_at(std::uint64_t offset);
  void clear();

  BlockPool* pool_;
  std::uint64_t base_ = 0;
  std::deque<std::unique_ptr<Block>> blocks_;  // blocks_[0] holds base_; a null one was never touched
};

}  // namespace mcdtp
