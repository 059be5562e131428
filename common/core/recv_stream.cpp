#include "common/core/recv_stream.h"

#include <algorithm>

namespace mcdtp {

std::optional<RecvStream::Verdict> RecvStream::refuse(std::uint64_t end) const {
  if (end > credit_) return Verdict::kOverCredit;
  if (final_size_ && end > *final_size_) return Verdict::kAgainstFinalSize;
  return std::nullopt;
}

std::uint64_t RecvStream::raise_highest(std::uint64_t end) {
  const std::uint64_t rose = end > highest_ ? end - highest_ : 0;
  highest_ += rose;
  return rose;
}

RecvStream::Outcome RecvStream::on_data(std::uint64_t offset, Bytes data) {
  const std::uint64_t end = offset + data.size();
  if (const auto refused = refuse(end)) return {*refused, 0};
  const Outcome taken{Verdict::kTaken, raise_highest(end)};
  if (reset_ || end <= in_order_) return taken;
  const std::uint64_t begin = std::max(offset, in_order_);
  buffer_.write(begin, data.subspan(begin - offset));
  if (begin == in_order_ && above_.empty()) {
    in_order_ = end;
    return taken;
  }
  above_.add(begin, end);
  if (above_.front().begin == in_order_) {
    in_order_ = above_.front().end;
    above_.pop_front();
  }
  return taken;
}

RecvStream::Outcome RecvStream::on_fin(std::uint64_t final_size) {
  // A FIN that was overtaken by a RESET names the size that the sender then gave up.
  if (reset_) return {};
  if (final_size < highest_ || (final_size_ && *final_size_ != final_size))
    return {Verdict::kAgainstFinalSize, 0};
  final_size_ = final_size;
  return {};
}

RecvStream::Outcome RecvStream::on_reset(std::uint64_t final_size) {
  if (final_size < highest_ || (final_size_ && final_size > *final_size_))
    return {Verdict::kAgainstFinalSize, 0};
  if (final_size > credit_) return {Verdict::kOverCredit, 0};
  if (reset_ || all_received()) return {};
  reset_ = true;
  final_size_ = final_size;
  above_.clear();
  in_order_ = final_size;
  buffer_.release_below(final_size);
  buffer_.trim(final_size);
  return {Verdict::kTaken, raise_highest(final_size)};
}

Bytes RecvStream::readable_at(std::size_t skip) const {
  const std::uint64_t from = buffer_.base() + skip;
  CHECK(from <= in_order_);
  if (from == in_order_) return {};
  return buffer_.contiguous(from, static_cast<std::size_t>(in_order_ - from));
}

}  // namespace mcdtp
