#include "tests/wan/settings.h"

#include <charconv>
#include <cmath>
#include <stdexcept>

namespace mcdtp::wan {
namespace {

[[noreturn]] void refuse(std::string_view text, const char* wanted) {
  throw std::runtime_error("'" + std::string(text) + "' is not " + wanted);
}

std::pair<std::string_view, std::string_view> split(std::string_view text, char mark, const char* wanted) {
  std::size_t at = text.find(mark);
  if (at == std::string_view::npos) refuse(text, wanted);
  return {text.substr(0, at), text.substr(at + 1)};
}

double suffix_factor(std::string_view suffix, std::string_view text) {
  if (suffix.empty()) return 1;
  if (suffix == "k" || suffix == "K") return 1e3;
  if (suffix == "M") return 1e6;
  if (suffix == "G") return 1e9;
  refuse(text, "a number such as 0.05, 64k, 100M or 1G");
}

Duration parse_seconds(std::string_view text) { return from_seconds(parse_number(text)); }

}  // namespace

double parse_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) refuse(text, "a number of zero or more");
  return value * suffix_factor(std::string_view(rest, static_cast<std::size_t>(end - rest)), text);
}

std::uint64_t parse_count(std::string_view text) {
  double value = parse_number(text);
  if (value > 1e15) refuse(text, "a number below 10^15");
  return static_cast<std::uint64_t>(value);
}

double parse_share(std::string_view text) {
  double share = parse_number(text);
  if (share > 1) refuse(text, "a share between 0 and 1");
  return share;
}

Duration parse_milliseconds(std::string_view text) { return from_seconds(parse_number(text) / 1e3); }

Cut parse_cut(std::string_view text) {
  auto [from, to] = split(text, '-', "FROM-TO in seconds");
  return {parse_seconds(from), parse_seconds(to)};
}

RateStep parse_rate_step(std::string_view text) {
  auto [at, rate] = split(text, ':', "AT:RATE in seconds and bit/s");
  RateStep step{parse_seconds(at), parse_number(rate)};
  if (step.bits_per_second < 1) refuse(text, "a rate of 1 bit/s or more");
  return step;
}

Policer parse_policer(std::string_view text) {
  auto [rate, burst] = split(text, ':', "RATE:BURST in bit/s and bytes");
  return {parse_number(rate), parse_number(burst)};
}

std::pair<std::string, std::string> parse_both(const std::string& text) {
  std::size_t comma = text.find(',');
  if (comma == std::string::npos) return {text, text};
  return {text.substr(0, comma), text.substr(comma + 1)};
}

}  // namespace mcdtp::wan
