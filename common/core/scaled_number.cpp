#include "common/core/scaled_number.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace mcdtp {

std::optional<double> parse_scaled(std::string_view text, double step) {
  constexpr std::string_view kLetters = "kmgt";
  double factor = 1;
  const auto power = text.empty() ? text.npos : kLetters.find(static_cast<char>(text.back() | 0x20));
  if (power != text.npos) {
    factor = std::pow(step, static_cast<double>(power + 1));
    text.remove_suffix(1);
  }
  // No sign, no exponent, no name.
  if (text.find_first_not_of("0123456789.") != text.npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value * factor;
}

}  // namespace mcdtp
