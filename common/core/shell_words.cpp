#include "common/core/shell_words.h"

namespace mcdtp {
namespace {

constexpr std::string_view kBlanks = " \t\n";

// What a backslash frees: inside double quotes only these; outside of quotes every byte.
bool frees(char quote, char next) {
  return quote == 0 || (quote == '"' && std::string_view("\"\\$`\n").find(next) != std::string_view::npos);
}

// Takes one word, its quotes off. REQUIRES: `text` does not start with a blank. Nothing: a quote is not closed.
std::optional<std::string> take_word(std::string_view& text) {
  std::string word;
  char quote = 0;
  while (!text.empty()) {
    const char c = text.front();
    if (quote == 0 && kBlanks.find(c) != std::string_view::npos) break;
    text.remove_prefix(1);
    if (c == '\\' && !text.empty() && frees(quote, text.front())) {
      if (text.front() != '\n') word += text.front();
      text.remove_prefix(1);
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else {
      word += c;
    }
  }
  if (quote != 0) return std::nullopt;
  return word;
}

}  // namespace

std::optional<std::vector<std::string>> split_shell_words(std::string_view text, char end) {
  std::vector<std::string> words;
  for (;;) {
    const auto start = text.find_first_not_of(kBlanks);
    if (start == std::string_view::npos || (end != 0 && text[start] == end)) return words;
    text.remove_prefix(start);
    auto word = take_word(text);
    if (!word) return std::nullopt;
    words.push_back(std::move(*word));
  }
}

}  // namespace mcdtp
