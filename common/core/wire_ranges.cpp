#include "common/core/wire_ranges.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace mcdtp {
namespace {

// Where a bitmap follows: no report lists no ranges.
constexpr std::uint64_t kBitmapFollows = 0;

// Newest first: the length of the first less one, then gap less one and length less one of each further.
void read_list(Reader& in, PacketNumber largest, std::uint64_t count, std::vector<Range>& ranges) {
  std::uint64_t end = largest + 1;
  for (std::uint64_t i = 0; i < count && !in.failed(); ++i) {
    const std::uint64_t gap = i == 0 ? 0 : in.varint() + 1;
    const std::uint64_t size = in.varint() + 1;
    if (in.failed() || gap > end || size > end - gap) return in.fail();
    end -= gap;
    ranges.push_back({end - size, end});
    end -= size;
  }
}

void add_below(std::vector<Range>& ranges, PacketNumber number) {
  if (ranges.back().begin == number + 1) {
    --ranges.back().begin;
  } else {
    ranges.push_back({number, number + 1});
  }
}

// Its first bit is the largest number of all that have come below `largest`. It has been set, and the last byte
// is not zero, so that what it says can be said in one way only.
void read_bitmap(Reader& in, PacketNumber largest, std::vector<Range>& ranges) {
  const std::uint64_t skipped = in.varint();
  const Bytes bits = in.block(kMaxReportBitmap);
  if (bits.empty() || (bits.front() & 1) == 0 || bits.back() == 0) return in.fail();
  const std::uint64_t lowest =
      8 * bits.size() - static_cast<std::uint64_t>(std::countl_zero(bits.back())) - 1;
  if (skipped >= largest || lowest > largest - 1 - skipped) return in.fail();
  ranges.push_back({largest, largest + 1});
  const PacketNumber first = largest - 1 - skipped;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    for (unsigned byte = bits[i]; byte != 0; byte &= byte - 1) {
      add_below(ranges, first - 8 * i - static_cast<unsigned>(std::countr_zero(byte)));
    }
  }
}

// How much of `ranges` a form names in the room there is.
struct Fit {
  std::size_t size = 0;  // bytes
  PacketNumber lowest = 0;
};

struct ListFit : Fit {
  std::size_t count = 0;  // ranges
};

ListFit fit_list(std::size_t room, const std::vector<Range>& ranges) {
  // Two bytes for the count, at most 16 for a range.
  ListFit fit{{2 + varint_size(ranges[0].size() - 1), ranges[0].begin}, 1};
  for (; fit.count < std::min(ranges.size(), kMaxReportRanges); ++fit.count) {
    const Range& above = ranges[fit.count - 1];
    const Range& range = ranges[fit.count];
    const std::size_t more = varint_size(above.begin - range.end - 1) + varint_size(range.size() - 1);
    if (fit.size + more > room) break;
    fit.size += more;
    fit.lowest = range.begin;
  }
  return fit;
}

void write_list(Writer& out, const std::vector<Range>& ranges, std::size_t count) {
  out.varint(count);
  out.varint(ranges[0].size() - 1);
  for (std::size_t i = 1; i < count; ++i) {
    out.varint(ranges[i - 1].begin - ranges[i].end - 1);
    out.varint(ranges[i].size() - 1);
  }
}

struct BitmapFit : Fit {
  std::uint64_t skipped = 0;  // numbers between the largest and the first bit
  std::size_t bytes = 0;      // of the bitmap; 0: it names nothing
};

// Below the largest number, what a bitmap would begin with; nullopt: nothing is left to name.
std::optional<PacketNumber> second_largest(const std::vector<Range>& ranges) {
  if (ranges[0].size() > 1) return ranges[0].end - 2;
  if (ranges.size() > 1) return ranges[1].end - 1;
  return std::nullopt;
}

BitmapFit fit_bitmap(std::size_t room, const std::vector<Range>& ranges) {
  BitmapFit fit;
  const auto first = second_largest(ranges);
  if (!first) return fit;
  const PacketNumber largest = ranges[0].end - 1;
  fit.skipped = largest - 1 - *first;
  const std::size_t head = 1 + varint_size(fit.skipped) + 2;
  if (room <= head) return fit;
  const std::uint64_t capacity = 8 * std::min(room - head, kMaxReportBitmap);
  const PacketNumber bound = *first + 1 > capacity ? *first + 1 - capacity : 0;
  // The lowest number that came and is not below the bound.
  const auto below = std::partition_point(ranges.begin(), ranges.end(),
                                          [&](const Range& range) { return range.end > bound; });
  fit.lowest = std::max(std::prev(below)->begin, bound);
  fit.bytes = static_cast<std::size_t>((*first - fit.lowest) / 8 + 1);
  fit.size = head + fit.bytes;
  return fit;
}

void write_bitmap(Writer& out, const std::vector<Range>& ranges, const BitmapFit& fit) {
  out.varint(kBitmapFollows);
  out.varint(fit.skipped);
  out.varint(fit.bytes);
  const MutableBytes bits = out.reserve(fit.bytes);
  std::fill(bits.begin(), bits.end(), std::uint8_t{0});
  const PacketNumber first = ranges[0].end - 2 - fit.skipped;
  for (const Range& range : ranges) {
    if (range.end <= fit.lowest) break;
    const PacketNumber top = std::min(range.end, first + 1);
    for (PacketNumber n = std::max(range.begin, fit.lowest); n < top; ++n) {
      bits[(first - n) / 8] |= static_cast<std::uint8_t>(1U << ((first - n) % 8));
    }
  }
}

}  // namespace

void read_ranges(Reader& in, PacketNumber largest, std::vector<Range>& ranges) {
  const std::uint64_t count = in.varint();
  if (count > kMaxReportRanges || in.failed()) return in.fail();
  if (count == kBitmapFollows) return read_bitmap(in, largest, ranges);
  read_list(in, largest, count, ranges);
}

PacketNumber write_ranges(Writer& out, const std::vector<Range>& ranges, std::size_t room) {
  const ListFit list = fit_list(room, ranges);
  const BitmapFit bitmap = fit_bitmap(room, ranges);
  const bool further = bitmap.lowest < list.lowest;
  const bool shorter = bitmap.lowest == list.lowest && bitmap.size < list.size;
  if (bitmap.bytes > 0 && (further || shorter)) {
    write_bitmap(out, ranges, bitmap);
    return bitmap.lowest;
  }
  write_list(out, ranges, list.count);
  return list.lowest;
}

}  // namespace mcdtp
