#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcdtp {

// Splits `text` at blanks and line ends as a POSIX shell would: quotes and backslashes protect and go. Nothing is
// expanded: $, `, * and ~ stand for themselves. Nothing where a quote is not closed.
std::optional<std::vector<std::string>> split_shell_words(std::string_view text);

}  // namespace mcdtp
