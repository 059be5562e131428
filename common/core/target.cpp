#include "common/core/target.h"

#include <charconv>

#include "common/core/wire.h"

namespace mcdtp {
namespace {

constexpr std::string_view kTcp = "tcp ";
constexpr std::string_view kUnix = "unix ";
constexpr std::string_view kListenTcp = "listen-tcp ";
constexpr std::string_view kListenUnix = "listen-unix ";
constexpr std::string_view kForwarded = "forwarded ";
constexpr std::string_view kBound = "bound ";
constexpr std::string_view kFailed = "failed ";

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

// Digits with no leading zero.
template <typename Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto size = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || (text[0] == '0' && size > 1)) return std::nullopt;
  text.remove_prefix(size);
  return number;
}

// A port, a space, and the rest.
std::optional<std::uint16_t> take_port(std::string_view& text) {
  const auto port = take_number<std::uint16_t>(text);
  return port && take(text, " ") ? port : std::nullopt;
}

}  // namespace

std::string format_target(const Target& target) {
  return std::visit(
      Overloaded{
          [](const ToTcp& to) { return std::string(kTcp) + std::to_string(to.port) + " " + to.host; },
          [](const ToUnix& to) { return std::string(kUnix) + to.path; },
          [](const ListenTcp& on) {
            return std::string(kListenTcp) + std::to_string(on.port) + " " + on.address;
          },
          [](const ListenUnix& on) { return std::string(kListenUnix) + on.path; },
          [](const Forwarded& from) { return std::string(kForwarded) + std::to_string(from.listener); }},
      target);
}

bool is_sayable(const Target& target) {
  const std::string text = format_target(target);
  return text.size() <= kMaxTargetSize && parse_target(text) == target;
}

std::optional<Target> parse_target(std::string_view text) {
  if (text.find('\0') != text.npos) return std::nullopt;
  if (take(text, kTcp)) {
    const auto port = take_port(text);
    if (!port || *port == 0 || text.empty()) return std::nullopt;
    return ToTcp{std::string(text), *port};
  }
  if (take(text, kListenTcp)) {
    const auto port = take_port(text);
    if (!port) return std::nullopt;
    return ListenTcp{std::string(text), *port};
  }
  if (take(text, kForwarded)) {
    const auto listener = take_number<StreamId>(text);
    if (!listener || !text.empty()) return std::nullopt;
    return Forwarded{*listener};
  }
  const bool listens = take(text, kListenUnix);
  if ((!listens && !take(text, kUnix)) || text.empty()) return std::nullopt;
  if (listens) return ListenUnix{std::string(text)};
  return ToUnix{std::string(text)};
}

std::string format_listen_answer(const ListenAnswer& answer) {
  if (answer.port) return std::string(kBound) + std::to_string(*answer.port) + "\n";
  return (std::string(kFailed) + answer.error).substr(0, ListenAnswer::kMaxSize - 1) + "\n";
}

std::optional<ListenAnswer> parse_listen_answer(std::string_view line) {
  if (line.size() >= ListenAnswer::kMaxSize || line.find('\n') != line.npos) return std::nullopt;
  if (take(line, kFailed)) return ListenAnswer{std::nullopt, std::string(line)};
  if (!take(line, kBound)) return std::nullopt;
  const auto port = take_number<std::uint16_t>(line);
  if (!port || !line.empty()) return std::nullopt;
  return ListenAnswer{port, {}};
}

}  // namespace mcdtp
