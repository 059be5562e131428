#pragma once

#include <optional>
#include <string_view>

namespace mcdtp {

// Reads 80M or 1.5g: a decimal number of at least 0, then k, M, G or T for `step` to the power of 1 to 4. Pure.
std::optional<double> parse_scaled(std::string_view text, double step);

}  // namespace mcdtp
