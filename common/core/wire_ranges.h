#pragma once

#include <vector>

#include "common/core/bytes.h"
#include "common/core/ranges.h"
#include "common/core/types.h"

// The end of a REPORT, see mcdtp-protocol(7): the packet numbers that have come, as ranges or as a bitmap.
namespace mcdtp {

// A report that lists ranges holds at most this many,
inline constexpr std::size_t kMaxReportRanges = 2048;
// and a bitmap at most this many bytes, eight numbers in each.
inline constexpr std::size_t kMaxReportBitmap = 2048;

// `ranges` has to be empty; it is filled newest first. What cannot be fails the reader.
void read_ranges(Reader& in, PacketNumber largest, std::vector<Range>& ranges);

// Writes what names the most numbers in `room` bytes, newest first: ranges, or a bitmap, whose last range may
// be cut short; the shorter one where both reach as far. Returns the lowest number named.
// REQUIRES: ranges newest first, none touching, at least one; out.remaining() >= room >= kMinRangesSize.
PacketNumber write_ranges(Writer& out, const std::vector<Range>& ranges, std::size_t room);

inline constexpr std::size_t kMinRangesSize = 2 + 8;

}  // namespace mcdtp
