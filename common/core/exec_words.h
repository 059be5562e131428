#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcdtp {

// Of letters, digits and _ . / - alone, which every shell takes as they are; so is the empty one.
bool is_plain(std::string_view word);

// Text that means itself in single quotes of every shell, and is decoded by printf %b there.
std::string octal(std::string_view text);

// One word for a POSIX shell. Plain ones stay as they are, which keeps a line short.
std::string quote(std::string_view word);

// Words quoted for a POSIX shell and then made printable, with a space between each two.
std::string encode_words(const std::vector<std::string>& words);
// Unset for what encode_words() cannot have given.
[[nodiscard]] std::optional<std::vector<std::string>> decode_words(std::string_view text);

}  // namespace mcdtp
