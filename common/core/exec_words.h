#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcdtp {

// Letters, digits and _ . / -: what every shell takes as it is.
bool is_plain_byte(char c);

// Text that means itself in single quotes of every shell, and is decoded by printf %b there.
std::string octal(std::string_view text);

// One word for a POSIX shell. Plain ones stay as they are, which keeps a line short.
std::string quote(std::string_view word);

// Words quoted for a POSIX shell and then made printable, with a space between each two.
std::string encode_words(const std::vector<std::string>& words);
// Unset for what encode_words() cannot have given.
[[nodiscard]] std::optional<std::vector<std::string>> decode_words(std::string_view text);

}  // namespace mcdtp
