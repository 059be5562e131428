#include "common/core/stream_buffer.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>

#include "common/core/check.h"

namespace mcdtp {

std::unique_ptr<BlockPool::Block> BlockPool::take() {
  most_in_use_ = std::max(most_in_use_, ++in_use_);
  // Not value-initialised: every byte is written before it is read.
  if (spares_.empty()) return std::unique_ptr<Block>(new Block);
  std::unique_ptr<Block> block = std::move(spares_.back());
  spares_.pop_back();
  return block;
}

void BlockPool::give(std::unique_ptr<Block> block) {
  if (!block) return;
  --in_use_;
  if (spares_.size() < kMaxSpares) {
    spares_.push_back(std::move(block));
  } else {
    block.reset();
    if (most_in_use_ >= kMany && in_use_ < most_in_use_ / 4) give_back_memory();
  }
}

// The allocator by itself returns only what lies above the last block in use, and some small one always is.
void BlockPool::give_back_memory() {
  most_in_use_ = in_use_;
  malloc_trim(0);
}

std::size_t StreamBuffer::index_of(std::uint64_t offset) const {
  CHECK(offset >= base_);
  return static_cast<std::size_t>(offset / kBlockSize - base_ / kBlockSize);
}

StreamBuffer::Block& StreamBuffer::block_at(std::uint64_t offset) {
  const std::size_t index = index_of(offset);
  if (index >= blocks_.size()) blocks_.resize(index + 1);
  if (!blocks_[index]) blocks_[index] = pool_->take();
  return *blocks_[index];
}

MutableBytes StreamBuffer::room(std::uint64_t offset) {
  return MutableBytes(block_at(offset)).subspan(offset % kBlockSize);
}

void StreamBuffer::write(std::uint64_t offset, Bytes data) {
  while (!data.empty()) {
    const MutableBytes space = room(offset);
    const std::size_t size = std::min(space.size(), data.size());
    std::memcpy(space.data(), data.data(), size);
    data = data.subspan(size);
    offset += size;
  }
}

Bytes StreamBuffer::contiguous(std::uint64_t offset, std::size_t max) const {
  const std::size_t index = index_of(offset);
  CHECK(index < blocks_.size() && blocks_[index]);
  const Bytes rest = Bytes(*blocks_[index]).subspan(offset % kBlockSize);
  return rest.first(std::min(max, rest.size()));
}

void StreamBuffer::read(std::uint64_t offset, MutableBytes out) const {
  while (!out.empty()) {
    const Bytes part = contiguous(offset, out.size());
    std::memcpy(out.data(), part.data(), part.size());
    out = out.subspan(part.size());
    offset += part.size();
  }
}

void StreamBuffer::release_below(std::uint64_t offset) {
  CHECK(offset >= base_);
  for (std::uint64_t gone = offset / kBlockSize - base_ / kBlockSize; gone > 0 && !blocks_.empty(); --gone) {
    pool_->give(std::move(blocks_.front()));
    blocks_.pop_front();
  }
  base_ = offset;
}

void StreamBuffer::trim(std::uint64_t end) {
  const std::size_t kept = end == base_ ? 0 : index_of(end - 1) + 1;
  while (blocks_.size() > kept) {
    pool_->give(std::move(blocks_.back()));
    blocks_.pop_back();
  }
}

void StreamBuffer::clear() { trim(base_); }

std::size_t StreamBuffer::blocks() const {
  return static_cast<std::size_t>(
      std::count_if(blocks_.begin(), blocks_.end(), [](const auto& block) { return block != nullptr; }));
}

bool StreamBuffer::has_block(std::uint64_t offset) const {
  const std::size_t index = index_of(offset);
  return index < blocks_.size() && blocks_[index];
}

}  // namespace mcdtp
