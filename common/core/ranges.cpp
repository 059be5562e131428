#include "common/core/ranges.h"

#include <algorithm>

namespace mcdtp {

std::deque<Range>::iterator RangeSet::first_touching(std::uint64_t value) {
  // Most additions land at the end: try that before a search.
  if (ranges_.empty() || ranges_.back().end < value) return ranges_.end();
  return std::lower_bound(ranges_.begin(), ranges_.end(), value,
                          [](const Range& r, std::uint64_t v) { return r.end < v; });
}

std::uint64_t RangeSet::add(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return 0;
  const auto first = first_touching(begin);
  std::uint64_t already = 0;
  Range merged{begin, end};
  auto last = first;
  for (; last != ranges_.end() && last->begin <= end; ++last) {
    const std::uint64_t from = std::max(begin, last->begin), to = std::min(end, last->end);
    if (from < to) already += to - from;
    merged = {std::min(merged.begin, last->begin), std::max(merged.end, last->end)};
  }
  if (first == last) {
    ranges_.insert(first, merged);
  } else {
    *first = merged;
    ranges_.erase(first + 1, last);
  }
  return (end - begin) - already;
}

void RangeSet::subtract(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  auto it = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                             [](std::uint64_t v, const Range& r) { return v < r.end; });
  if (it == ranges_.end() || it->begin >= end) return;
  if (it->begin < begin && it->end > end) {
    const Range tail{end, it->end};
    it->end = begin;
    ranges_.insert(it + 1, tail);
    return;
  }
  if (it->begin < begin) {
    it->end = begin;
    ++it;
  }
  auto last = it;
  while (last != ranges_.end() && last->end <= end) ++last;
  if (last != ranges_.end() && last->begin < end) last->begin = end;
  ranges_.erase(it, last);
}

bool RangeSet::contains(std::uint64_t value) const {
  const auto it = std::upper_bound(ranges_.begin(), ranges_.end(), value,
                                   [](std::uint64_t v, const Range& r) { return v < r.end; });
  return it != ranges_.end() && it->begin <= value;
}

std::vector<Range> RangeSet::missing(std::uint64_t begin, std::uint64_t end) const {
  std::vector<Range> holes;
  auto it = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                             [](std::uint64_t v, const Range& r) { return v < r.end; });
  for (; begin < end && it != ranges_.end() && it->begin < end; ++it) {
    if (begin < it->begin) holes.push_back({begin, it->begin});
    begin = it->end;
  }
  if (begin < end) holes.push_back({begin, end});
  return holes;
}

}  // namespace mcdtp
