#include "common/core/exec_words.h"

#include <algorithm>

#include "common/core/shell_words.h"

namespace mcdtp {
namespace {

// Not std::isalnum, which asks the locale.
bool is_plain_byte(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' || c == '-';
}

std::optional<char> octal_digits(std::string_view digits) {
  unsigned value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<unsigned>(c - '0');
  }
  if (digits.size() != 3 || value == 0 || value > 255) return std::nullopt;
  return static_cast<char>(value);
}

// Undoes octal() and the spaces between words.
std::optional<std::string> from_octal(std::string_view text) {
  constexpr std::string_view kMark = "\\0";
  std::string out;
  while (!text.empty()) {
    if (text.starts_with(kMark)) {
      const auto byte = octal_digits(text.substr(kMark.size(), 3));
      if (!byte) return std::nullopt;
      out += *byte;
      text.remove_prefix(kMark.size() + 3);
      continue;
    }
    if (text.front() != ' ' && !is_plain_byte(text.front())) return std::nullopt;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace

bool is_plain(std::string_view word) { return std::all_of(word.begin(), word.end(), is_plain_byte); }

// Text that means itself in single quotes of every shell, and is decoded by printf %b there.
std::string octal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain_byte(c)) {
      out += c;
      continue;
    }
    out += "\\0";
    for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + ((byte >> shift) & 7));
  }
  return out;
}

// One word for a POSIX shell. Plain ones stay as they are, which keeps the line short.
std::string quote(std::string_view word) {
  if (!word.empty() && is_plain(word)) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string encode_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + octal(quote(word));
  return out;
}

std::optional<std::vector<std::string>> decode_words(std::string_view text) {
  const auto line = from_octal(text);
  return line ? split_shell_words(*line) : std::nullopt;
}

}  // namespace mcdtp
