#include "common/core/path_mtu.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/core/check.h"

namespace mcdtp {
namespace {

// Ethernet over IPv4 and IPv6.
constexpr std::array<std::size_t, 2> kLikely = {1472, 1452};

}  // namespace

void PathMtu::set_cap(std::size_t bytes) {
  CHECK(bytes >= kBase);
  cap_ = std::min(bytes, kMost);
}

void PathMtu::set_limit(Time now, std::size_t bytes) {
  const std::size_t limit = std::clamp(bytes, kBase, cap_);
  if (std::exchange(has_limit_, true) && limit == limit_) return;
  limit_ = limit;
  set_size(std::min(size_, limit_));
  begin(now, limit_);
}

// A byte less is no better guess than any other: the search begins in the middle.
void PathMtu::on_refused(Time now, std::size_t bytes) {
  if (bytes <= kBase || bytes > limit_) return;
  limit_ = bytes - 1;
  if (size_ > limit_) set_size(kBase);
  begin(now, limit_);
  high_ = std::max(limit_, size_ + 1);
  advance(now);
}

void PathMtu::restart() {
  const PathMtu fresh;
  const auto [cap, hint] = std::pair(cap_, hint_);
  *this = fresh;
  cap_ = cap;
  hint_ = hint;
}

void PathMtu::on_data_sent(Time now, std::size_t bytes) {
  data_ += bytes;
  if (state_ != State::kComplete || now < raise_at_) return;
  has_limit_ = false;
  // Most likely nothing has changed: what lies just above tells.
  hint_ = size_;
  begin(now, limit_);
}

void PathMtu::set_size(std::size_t size) {
  if ((size > kBase) != (size_ > kBase)) arrivals_ = {};
  size_ = size;
}

// Sizes from size() to `top` are open again.
void PathMtu::begin(Time now, std::size_t top) {
  top_ = top;
  high_ = top + 1;
  probes_lost_ = 0;
  outstanding_.reset();
  raise_at_ = now + kRaise;
  state_ = size_ < top_ ? State::kSearching : State::kComplete;
}

bool PathMtu::is_likely(std::size_t size) const {
  return size == hint_ || std::find(kLikely.begin(), kLikely.end(), size) != kLikely.end();
}

// What is likely, then the largest, which most paths carry; where a likely size was the last to pass, whether it is
// the largest; else the middle. REQUIRES: size_ + 1 < high_.
std::size_t PathMtu::next_size() const {
  const auto open = [&](std::size_t size) { return size_ < size && size < high_; };
  if (open(hint_)) return hint_;
  for (const std::size_t size : kLikely) {
    if (open(size)) return size;
  }
  if (top_ < high_) return top_;
  if (is_likely(size_)) return size_ + kStep;
  return (size_ + high_) / 2;
}

std::optional<std::size_t> PathMtu::probe() const {
  if (state_ != State::kSearching || outstanding_) return std::nullopt;
  const std::size_t size = next_size();
  return data_ >= kDataPerProbe * size ? std::optional(size) : std::nullopt;
}

void PathMtu::on_probe_sent(PacketNumber number) {
  if (std::exchange(probed_, next_size()) != next_size()) probes_lost_ = 0;
  outstanding_ = number;
  data_ = 0;
}

bool PathMtu::on_probe_covered(Time now, PacketNumber number, std::size_t size) {
  if (outstanding_ == number) outstanding_.reset();
  if (size <= size_ || size > limit_) return false;
  set_size(size);
  // A late one, of a size that was given up: all above it is open again.
  if (size_ >= high_) high_ = (top_ = std::max(top_, size_)) + 1;
  advance(now);
  return true;
}

void PathMtu::on_probe_lost(Time now, PacketNumber number) {
  if (outstanding_ != number || state_ == State::kError) return;
  outstanding_.reset();
  if (++probes_lost_ < kMaxProbes) return;
  high_ = probed_;
  advance(now);
}

void PathMtu::advance(Time now) {
  // A top that is not tried yet ends nothing.
  if (size_ < top_ && top_ < high_) return;
  if (high_ - size_ > kStep) return;
  state_ = State::kComplete;
  outstanding_.reset();
  raise_at_ = now + kRaise;
}

void PathMtu::on_covered(PacketNumber number, std::size_t size) {
  Arrivals& row = arrivals_;
  const bool is_in_row = row.large_lost > 0 && number > row.first_large_lost;
  if (is_large(size)) {
    row.newest_large = std::max(number, row.newest_large.value_or(0));
    if (is_in_row) row.large_lost = 0;
  } else {
    row.newest_small = std::max(number, row.newest_small.value_or(0));
    if (is_in_row) row.small_since = std::min(number, row.small_since.value_or(number));
  }
}

void PathMtu::Arrivals::on_large_lost(PacketNumber number) {
  if (large_lost++ == 0) {
    first_large_lost = number;
    small_since = newest_small && *newest_small > number ? newest_small : std::nullopt;
    sure_lost = 0;
  }
  if (small_since && number > *small_since) ++sure_lost;
}

void PathMtu::on_lost(Time now, PacketNumber number, std::size_t size) {
  // A larger one is from before the size was lowered.
  if (!is_large(size) || size > size_) return;
  // Reports tell of arrivals before they tell of losses.
  if (arrivals_.newest_large && number < *arrivals_.newest_large) return;
  arrivals_.on_large_lost(number);
  const bool is_base = size_ == kBase;
  if (!(is_base ? arrivals_.is_error() : arrivals_.is_black_hole())) return;
  arrivals_.large_lost = 0;
  if (is_base) {
    state_ = State::kError;
    return;
  }
  const std::size_t was = size_;
  set_size(kBase);
  begin(now, was);
}

}  // namespace mcdtp
