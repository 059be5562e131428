#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace mcdtp {

// Half-open: begin is in, end is not.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// A set of integers kept as sorted ranges. A change near either end costs little, one in the middle moves the
// ranges up to the nearer end; a search costs the logarithm of their number.
// Invariants: no range is empty; between two neighbours at least one integer is missing.
class RangeSet {
 public:
  // Adds [begin, end); returns how many of them were new. An empty range adds nothing.
  std::uint64_t add(std::uint64_t begin, std::uint64_t end);
  void subtract(std::uint64_t begin, std::uint64_t end);
  void remove_below(std::uint64_t bound) { subtract(0, bound); }
  // REQUIRES: !empty().
  void pop_front() { ranges_.pop_front(); }
  void clear() { ranges_.clear(); }

  bool contains(std::uint64_t value) const;
  // The parts of [begin, end) that are not in the set, in order.
  std::vector<Range> missing(std::uint64_t begin, std::uint64_t end) const;

  bool empty() const { return ranges_.empty(); }
  // How many ranges, not how many integers.
  std::size_t size() const { return ranges_.size(); }
  // REQUIRES: !empty().
  const Range& front() const { return ranges_.front(); }
  const Range& back() const { return ranges_.back(); }
  const std::deque<Range>& ranges() const { return ranges_; }

 private:
  // The first range that ends at or after `value`, so that one ending there can grow.
  std::deque<Range>::iterator first_touching(std::uint64_t value);

  std::deque<Range> ranges_;
};

}  // namespace mcdtp
