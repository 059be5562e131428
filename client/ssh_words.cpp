#include "client/ssh_words.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "common/core/check.h"
#include "common/core/whole_number.h"

namespace mcdtp {
namespace {

constexpr std::string_view kFlags = "1246afgknqstvxACGKMNPTVXYy";
constexpr std::string_view kWithValue = "bceilmopwBDEFIJLOQRSW";
constexpr std::string_view kBlanks = " \t\r\n";

void skip_blanks(std::string& text) { text.erase(0, std::min(text.find_first_not_of(kBlanks), text.size())); }

// Takes the first word of a configuration line. One "=" counts as a blank.
std::string take_keyword(std::string& line) {
  const auto end = line.find_first_of(" \t\r\n\"=");
  if (end == std::string::npos) return std::exchange(line, "");
  if (line[end] == '"') {
    line.erase(end, 1);
    const auto close = line.find('"', end);
    if (close == std::string::npos) return line.clear(), "";
    const std::string quoted = line.substr(0, close);
    line.erase(0, close + 1);
    skip_blanks(line);
    return quoted;
  }
  const bool equals = line[end] == '=';
  const std::string word = line.substr(0, end);
  line.erase(0, end + 1);
  skip_blanks(line);
  if (!equals && line.starts_with('=')) {
    line.erase(0, 1);
    skip_blanks(line);
  }
  return word;
}

// Inside double or single quotes a backslash frees quotes and itself; outside of them a space too.
bool is_escape(std::string_view text, std::size_t at, char quote) {
  if (text[at] != '\\' || at + 1 == text.size()) return false;
  const char next = text[at + 1];
  return next == '\'' || next == '"' || next == '\\' || (quote == 0 && next == ' ');
}

// Reads one word from `at` on and leaves `at` behind it. Nothing when a quote is not closed.
std::optional<std::string> take_quoted_word(std::string_view text, std::size_t& at) {
  std::string word;
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (is_escape(text, at, quote)) {
      word += text[++at];
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      break;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
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

std::optional<std::vector<std::string>> split_values(std::string_view text) {
  std::vector<std::string> values;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == ' ' || text[at] == '\t') continue;
    if (text[at] == '#') break;
    auto word = take_quoted_word(text, at);
    if (!word) return std::nullopt;
    values.push_back(std::move(*word));
  }
  return values;
}

constexpr std::string_view kEndsALine("\n\0", 2);

// "+" is a space and %XX a byte, in the user's name of an ssh:// address.
std::optional<std::string> url_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const std::string_view digits = text.substr(i + 1, 2);
      unsigned byte = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
      if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) return std::nullopt;
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

bool is_domain(std::string_view name) {
  const auto alphanumeric = [](unsigned char c) { return std::isalnum(c) != 0; };
  return !name.empty() && alphanumeric(name[0]) && name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return alphanumeric(c) || c == '.' || c == '-' || c == '_'; });
}

// Reads host[:port][/]. Brackets, and so IPv6 literals, are an error here in ssh 9.2 too.
std::optional<Destination> parse_uri_host(std::string_view text) {
  if (text.ends_with('/')) text.remove_suffix(1);
  const auto colon = text.find(':');
  Destination to{.host = std::string(text.substr(0, colon)), .user = {}, .port = {}};
  if (!is_domain(to.host)) return std::nullopt;
  if (to.host.ends_with('.')) to.host.pop_back();
  if (colon == std::string_view::npos || colon + 1 == text.size()) return to;
  to.port = parse_port(text.substr(colon + 1));
  return to.port ? std::optional(to) : std::nullopt;
}

std::optional<Destination> parse_uri(std::string_view text) {
  const auto at = text.find('@');
  if (at == std::string_view::npos) return parse_uri_host(text);
  auto to = parse_uri_host(text.substr(at + 1));
  const std::string_view user = text.substr(0, std::min(text.find(';'), at));
  const auto decoded = url_decode(user);
  if (!to || user.empty() || !decoded || decoded->find_first_of(kEndsALine) != decoded->npos)
    return std::nullopt;
  to->user = *decoded;
  return to;
}

}  // namespace

ValueRule ssh_letter_rule(char letter) {
  if (kFlags.find(letter) != std::string_view::npos) return ValueRule::kNone;
  if (kWithValue.find(letter) != std::string_view::npos) return ValueRule::kRequired;
  return ValueRule::kUnknown;
}

std::optional<SshOption> SshArguments::next_option() {
  if (letter_ > 0) return next_letter();
  if (at_end() || word().size() < 2 || word()[0] != '-' || word() == "--") return std::nullopt;
  if (word()[1] == '-') return next_long();
  letter_ = 1;
  return next_letter();
}

SshOption SshArguments::next_letter() {
  SshOption option;
  option.letter = word()[letter_++];
  option.word = index_;
  const bool takes_value = ssh_letter_rule(option.letter) == ValueRule::kRequired;
  const bool glued = takes_value && letter_ < word().size();
  if (glued) option.value = word().substr(letter_);
  if (!takes_value && letter_ < word().size()) return option;
  ++index_;
  letter_ = 0;
  if (takes_value && !glued) take_value(option);
  return option;
}

SshOption SshArguments::next_long() {
  SshOption option;
  option.word = index_;
  option.name = take_word().substr(2);
  if (const auto equals = option.name.find('='); equals != std::string::npos) {
    option.value = option.name.substr(equals + 1);
    option.name.erase(equals);
  } else if (long_rule_(option.name) == ValueRule::kRequired) {
    take_value(option);
  }
  return option;
}

void SshArguments::take_value(SshOption& option) {
  option.value_missing = at_end();
  option.value_is_next_word = !at_end();
  if (!at_end()) option.value = take_word();
}

void KeptWords::keep(const SshOption& option) {
  CHECK(option.letter != 0);
  if (cluster_ != option.word) words_.push_back("-");
  cluster_ = option.word;
  words_.back() += option.letter;
  if (!option.value) return;
  if (option.value_is_next_word) {
    keep(*option.value);
  } else {
    words_.back() += *option.value;
  }
}

void KeptWords::keep(std::string word) {
  words_.push_back(std::move(word));
  cluster_.reset();
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_whole<std::uint16_t>(text);
  return port != 0 ? port : std::nullopt;
}

std::optional<Destination> parse_destination(std::string_view text) {
  constexpr std::string_view kScheme = "ssh://";
  if (text.find_first_of(kEndsALine) != text.npos) return std::nullopt;
  if (text.starts_with(kScheme)) return parse_uri(text.substr(kScheme.size()));
  const auto at = text.rfind('@');
  if (at == 0) return std::nullopt;
  if (at == std::string_view::npos) return Destination{.host = std::string(text), .user = {}, .port = {}};
  return Destination{
      .host = std::string(text.substr(at + 1)), .user = std::string(text.substr(0, at)), .port = {}};
}

std::optional<Keyword> parse_keyword(std::string_view line) {
  std::string rest(line.substr(0, line.find_last_not_of(" \t\r\n\f") + 1));
  Keyword keyword;
  keyword.name = take_keyword(rest);
  if (keyword.name.empty()) keyword.name = take_keyword(rest);
  if (keyword.name.empty() || keyword.name[0] == '#') return std::nullopt;
  for (char& c : keyword.name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  skip_blanks(rest);
  auto values = split_values(rest);
  if (!values || values->empty()) return std::nullopt;
  keyword.rest = std::move(rest);
  keyword.values = std::move(*values);
  return keyword;
}

}  // namespace mcdtp
