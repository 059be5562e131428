#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace mcdtp {

// The number that `text` is from end to end: digits alone, for a signed type also a minus before them. Unset for anything
// else, and for what the type does not hold. Pure.
template <std::integral Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, value);
  if (error != std::errc() || end != text_end) return std::nullopt;
  return value;
}

}  // namespace mcdtp
