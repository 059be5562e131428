#include "common/core/send_stream.h"

#include <algorithm>

#include "common/core/check.h"

namespace mcdtp {

void SendStream::wrote(std::size_t size) {
  CHECK(writable());
  end_ += size;
  buffer_.trim(end_);
}

void SendStream::write(Bytes data) {
  CHECK(writable());
  buffer_.write(end_, data);
  end_ += data.size();
}

void SendStream::finish() {
  finished_ = true;
  buffer_.trim(end_);
}

// Where nothing is left, no block is kept.
void SendStream::release_below(std::uint64_t offset) {
  buffer_.release_below(offset);
  if (offset == end_) buffer_.trim(end_);
}

void SendStream::reset() {
  reset_ = true;
  complete();
}

void SendStream::complete() {
  end_ = reset_ ? next_offset_ : end_;
  next_offset_ = end_;
  requeued_.clear();
  covered_.clear();
  release_below(end_);
}

std::optional<SendStream::Piece> SendStream::take(std::size_t max_size, std::uint64_t session_room) {
  if (!requeued_.empty()) return take_requeued(max_size);
  const std::uint64_t limit = std::min({end_, credit_, next_offset_ + session_room});
  if (next_offset_ >= limit) return std::nullopt;
  const Piece piece{next_offset_,
                    static_cast<std::size_t>(std::min<std::uint64_t>(max_size, limit - next_offset_)), false};
  next_offset_ += piece.size;
  return piece;
}

std::optional<SendStream::Piece> SendStream::take_requeued(std::size_t max_size) {
  const Range first = requeued_.front();
  const Piece piece{first.begin, static_cast<std::size_t>(std::min<std::uint64_t>(max_size, first.size())),
                    true};
  requeued_.subtract(piece.offset, piece.offset + piece.size);
  return piece;
}

void SendStream::covered(std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t base = buffer_.base(), end = offset + size;
  if (end <= base) return;
  requeued_.subtract(offset, end);
  covered_.add(std::max(offset, base), end);
  if (covered_.front().begin > base) return;
  release_below(covered_.front().end);
  covered_.pop_front();
}

void SendStream::requeue(std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t begin = std::max(offset, buffer_.base());
  for (const Range& hole : covered_.missing(begin, std::max(begin, offset + size))) {
    requeued_.add(hole.begin, hole.end);
  }
}

}  // namespace mcdtp
