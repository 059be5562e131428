#pragma once

#include <string_view>

namespace mcdtp {

// Does `name` match a pattern of * (any bytes) and ? (one byte), as ssh's files have them? Case counts for nothing.
// The time is at most the product of the lengths.
bool matches_pattern(std::string_view name, std::string_view pattern);

}  // namespace mcdtp
