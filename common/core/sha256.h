#pragma once

#include <string>
#include <string_view>

namespace mcdtp {

// 64 digits of 0-9 and a-f.
std::string sha256_hex(std::string_view bytes);

}  // namespace mcdtp
