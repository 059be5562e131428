#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mcdtp {

// The bytes behind RFC 4648 base64 with its padding. Nothing where `text` is not exactly that.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace mcdtp
