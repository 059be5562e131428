#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcdtp {

// Splits `text` at blanks and line ends as a POSIX shell would: quotes and backslashes protect and go. Nothing is
// expanded: $, `, * and ~ stand for themselves. Nothing where a quote is not closed. A word that begins with `end`, not in
// quotes, ends it: what follows is a comment. 0: none does.
std::optional<std::vector<std::string>> split_shell_words(std::string_view text, char end = 0);

}  // namespace mcdtp
