#include "common/io/byte_pipe.h"

#include "common/core/check.h"

namespace mcdtp {

void BytePipe::finish(std::size_t size) {
  CHECK(size >= kHeaderSize && size <= kMaxRecord);
  if (!waiting()) {
    unsent_.clear();
    sent_ = 0;
  }
  unsent_.push_back(static_cast<std::uint8_t>(size >> 8));
  unsent_.push_back(static_cast<std::uint8_t>(size));
  unsent_.insert(unsent_.end(), next_.begin(), next_.begin() + static_cast<std::ptrdiff_t>(size));
}

BytePipe::Status BytePipe::flush() {
  while (waiting()) {
    const IoResult result = out_->write(Bytes(unsent_).subspan(sent_));
    if (result.status == IoResult::Status::kWouldBlock) return Status::kOpen;
    if (result.status == IoResult::Status::kEnd) return Status::kEnd;
    if (result.status == IoResult::Status::kError) return Status::kBroken;
    sent_ += result.bytes;
  }
  return Status::kOpen;
}

BytePipe::Status BytePipe::fill() {
  const std::size_t before = unread_.size();
  unread_.resize(before + kReadSize);
  const IoResult result = in_->read(MutableBytes(unread_).subspan(before));
  unread_.resize(before + result.bytes);
  switch (result.status) {
    case IoResult::Status::kEnd: return Status::kEnd;
    case IoResult::Status::kError: return Status::kBroken;
    default: return Status::kOpen;
  }
}

// Empty: there is no whole packet, or what comes is none.
MutableBytes BytePipe::next() {
  const MutableBytes rest = MutableBytes(unread_).subspan(taken_);
  if (broken_ || rest.size() < kPrefix) return {};
  const std::size_t size = static_cast<std::size_t>(rest[0] << 8 | rest[1]);
  broken_ = size < kHeaderSize || size > kMaxRecord;
  if (broken_ || rest.size() - kPrefix < size) return {};
  taken_ += kPrefix + size;
  return rest.subspan(kPrefix, size);
}

void BytePipe::compact() {
  unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
}

}  // namespace mcdtp
