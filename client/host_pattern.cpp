#include "client/host_pattern.h"

#include <cstddef>
#include <optional>

namespace mcdtp {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

// On a mismatch only the last * is tried again, one byte further on.
bool matches_pattern(std::string_view name, std::string_view pattern) {
  std::size_t at = 0, in_pattern = 0, retry_at = 0;
  std::optional<std::size_t> star;
  while (at < name.size()) {
    const bool more = in_pattern < pattern.size();
    if (more && pattern[in_pattern] == '*') {
      star = in_pattern++;
      retry_at = at;
    } else if (more && (pattern[in_pattern] == '?' || lower(pattern[in_pattern]) == lower(name[at]))) {
      ++at, ++in_pattern;
    } else if (star) {
      in_pattern = *star + 1;
      at = ++retry_at;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

}  // namespace mcdtp
