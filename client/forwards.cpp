#include "client/forwards.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "common/core/whole_number.h"

namespace mcdtp {
namespace {

using Kind = Forward::Kind;

// What ssh says in the place of a target that SOCKS will name.
constexpr std::string_view kSocksTarget = "[socks]:0";
constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t kMaxHost = NI_MAXHOST - 1;
constexpr std::size_t kMaxFields = 4;

struct Field {
  std::string text;
  bool is_path = false;
};

std::optional<std::string> expand_environment(std::string_view text) {
  std::string expanded;
  for (auto begin = text.find("${"); begin != std::string_view::npos; begin = text.find("${")) {
    const auto end = text.find('}', begin);
    if (end == std::string_view::npos) return std::nullopt;
    const char* value = std::getenv(std::string(text.substr(begin + 2, end - begin - 2)).c_str());
    if (value == nullptr) return std::nullopt;
    expanded.append(text.substr(0, begin)).append(value);
    text.remove_prefix(end + 1);
  }
  return expanded.append(text);
}

// A number as strtoll() reads it, with blanks and a sign before it, or a service's name.
std::optional<std::uint16_t> parse_port(const std::string& text) {
  const auto digits =
      std::find_if_not(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c); });
  std::string_view word(digits, text.end());
  if (word.starts_with('+') && !word.starts_with("+-")) word.remove_prefix(1);
  const auto number = parse_whole<long long>(word);
  if (number && *number >= 0 && *number <= 65535) return static_cast<std::uint16_t>(*number);
  const servent* service = getservbyname(text.c_str(), "tcp");
  if (service == nullptr) return std::nullopt;
  return ntohs(static_cast<std::uint16_t>(service->s_port));
}

// Takes a field in brackets, and the colon after it, off `rest`. Slashes make it a path too.
std::optional<Field> take_literal(std::string_view& rest) {
  const auto end = rest.find(']');
  if (end == std::string_view::npos) return std::nullopt;
  Field field{std::string(rest.substr(1, end - 1)), false};
  field.is_path = field.text.find('/') != std::string::npos;
  if (end + 1 < rest.size() && rest[end + 1] != ':') return std::nullopt;
  rest.remove_prefix(std::min(end + 2, rest.size()));
  return field;
}

// Takes a field, and the colon after it, off `rest`.
std::optional<Field> take_field(std::string_view& rest) {
  if (rest.starts_with('[')) return take_literal(rest);
  Field field;
  std::size_t at = 0;
  for (; at < rest.size() && rest[at] != ':'; ++at) {
    const bool escaped = rest[at] == '\\';
    if (escaped && ++at == rest.size()) return std::nullopt;
    if (!escaped && rest[at] == '/') field.is_path = true;
    field.text += rest[at];
  }
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return field;
}

// One to four fields; none where there is more or something malformed.
std::vector<Field> split_fields(std::string_view text) {
  std::vector<Field> fields;
  while (!text.empty() && fields.size() < kMaxFields) {
    const auto field = take_field(text);
    if (!field) break;
    fields.push_back(*field);
  }
  // ssh forgives a lone backslash at the end, of which its parser leaves nothing.
  const bool nothing_left = text.empty() || (text == "\\" && fields.size() < kMaxFields);
  if (!nothing_left) fields.clear();
  return fields;
}

std::optional<ListenEnd> listen_path(const Field& path) {
  if (path.text.size() > kMaxPath) return std::nullopt;
  return ListenEnd{std::nullopt, 0, path.text};
}

std::optional<ListenEnd> listen_port(std::optional<std::string> bind, const Field& field) {
  const auto port = parse_port(field.text);
  if (!port || bind.value_or("").size() > kMaxHost) return std::nullopt;
  return ListenEnd{std::move(bind), *port, ""};
}

std::optional<ForwardEnd> connect_path(const Field& path) {
  if (path.text.size() > kMaxPath) return std::nullopt;
  return ForwardEnd{"", 0, path.text};
}

std::optional<ForwardEnd> connect_host(const Field& host, const Field& field) {
  const auto port = parse_port(field.text);
  if (port.value_or(0) == 0 || host.text.size() > kMaxHost) return std::nullopt;
  return ForwardEnd{host.text, *port, ""};
}

// Both ends; no second one where SOCKS will name it.
struct Ends {
  std::optional<ListenEnd> listen;
  std::optional<ForwardEnd> connect;
};

Ends ends_of_two(const std::vector<Field>& f) {
  if (f[1].is_path)
    return {f[0].is_path ? listen_path(f[0]) : listen_port(std::nullopt, f[0]), connect_path(f[1])};
  return {listen_port(f[0].text, f[1]), std::nullopt};
}

Ends ends_of_three(const std::vector<Field>& f) {
  if (f[0].is_path) return {listen_path(f[0]), connect_host(f[1], f[2])};
  if (f[2].is_path) return {listen_port(f[0].text, f[1]), connect_path(f[2])};
  return {listen_port(std::nullopt, f[0]), connect_host(f[1], f[2])};
}

bool names_a_target(const std::vector<Field>& f) { return f.size() > 2 || (f.size() == 2 && f[1].is_path); }

Ends ends_of(const std::vector<Field>& f) {
  switch (f.size()) {
    case 1: return {f[0].is_path ? listen_path(f[0]) : listen_port(std::nullopt, f[0]), std::nullopt};
    case 2: return ends_of_two(f);
    case 3: return ends_of_three(f);
    case 4: return {listen_port(f[0].text, f[1]), connect_host(f[2], f[3])};
    default: return {};
  }
}

std::optional<std::vector<Field>> fields_of_argument(std::string_view argument) {
  const auto expanded = expand_environment(argument);
  if (!expanded) return std::nullopt;
  std::string_view text = *expanded;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  return split_fields(text);
}

std::optional<Forward> forward_of(Kind kind, const std::vector<Field>& fields) {
  const bool remote = kind == Kind::kRemote;
  const bool targeted = names_a_target(fields);
  if (kind == Kind::kLocal ? !targeted : kind == Kind::kDynamic && fields.size() > 2) return std::nullopt;
  const auto [listen, connect] = ends_of(fields);
  if (!listen || connect.has_value() != targeted) return std::nullopt;
  if (!remote && listen->port == 0 && listen->path.empty()) return std::nullopt;
  if (!targeted) return Forward{remote ? Kind::kRemoteDynamic : Kind::kDynamic, *listen, {}};
  return Forward{remote ? Kind::kRemote : Kind::kLocal, *listen, *connect};
}

// [host]:port, as ssh prints it.
struct PrintedHost {
  std::string host;
  std::uint16_t port = 0;
};
std::optional<PrintedHost> parse_printed_host(std::string_view text) {
  const auto end = text.rfind("]:");
  if (!text.starts_with('[') || end == std::string_view::npos) return std::nullopt;
  const auto port = parse_port(std::string(text.substr(end + 2)));
  if (!port) return std::nullopt;
  return PrintedHost{std::string(text.substr(1, end - 1)), *port};
}

std::optional<ListenEnd> parse_printed_listen(std::string_view text) {
  if (const auto host = parse_printed_host(text)) return ListenEnd{host->host, host->port, ""};
  const bool is_number =
      !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
  if (is_number) return listen_port(std::nullopt, Field{std::string(text), false});
  return text.find('/') == std::string_view::npos ? std::nullopt
                                                  : listen_path(Field{std::string(text), true});
}

std::optional<ForwardEnd> parse_printed_connect(std::string_view text) {
  if (text == kSocksTarget) return ForwardEnd{};
  if (const auto host = parse_printed_host(text)) return ForwardEnd{host->host, host->port, ""};
  return text.find('/') == std::string_view::npos ? std::nullopt
                                                  : connect_path(Field{std::string(text), true});
}

// The line's two halves at the one blank between them; nothing where more than one could be it.
std::optional<Forward> parse_printed(Kind kind, std::string_view line) {
  std::optional<Forward> found;
  for (auto blank = line.find(' '); blank != std::string_view::npos; blank = line.find(' ', blank + 1)) {
    const auto listen = parse_printed_listen(line.substr(0, blank));
    const auto connect = parse_printed_connect(line.substr(blank + 1));
    if (!listen || !connect) continue;
    if (found) return std::nullopt;
    found = Forward{*connect == ForwardEnd{} ? Kind::kRemoteDynamic : kind, *listen, *connect};
  }
  return found;
}

// Takes the lines of one keyword into `forwards`. False where one is not to be understood.
bool add_printed(Kind kind, const std::vector<std::string>& lines, std::vector<Forward>& forwards) {
  for (const std::string& line : lines) {
    const auto forward = parse_printed(kind, line);
    if (!forward) return false;
    forwards.push_back(*forward);
  }
  return true;
}

// ssh prints a line for -L to a socket that looks like one for -D, too.
bool add_dynamic(const std::vector<std::string>& lines, std::vector<Forward>& forwards) {
  std::vector<ListenEnd> printed_twice;
  for (const Forward& forward : forwards) {
    if (forward.kind == Kind::kLocal && !forward.connect.path.empty())
      printed_twice.push_back(forward.listen);
  }
  for (const std::string& line : lines) {
    const auto listen = parse_printed_listen(line);
    if (!listen) return false;
    const auto twin = std::find(printed_twice.begin(), printed_twice.end(), *listen);
    if (twin != printed_twice.end())
      printed_twice.erase(twin);
    else
      forwards.push_back(Forward{Kind::kDynamic, *listen, {}});
  }
  return true;
}

}  // namespace

std::optional<Forward> parse_forward(Kind kind, std::string_view argument) {
  const auto fields = fields_of_argument(argument);
  return fields ? forward_of(kind, *fields) : std::nullopt;
}

std::optional<ForwardEnd> parse_stdio_forward(std::string_view argument) {
  const auto forward = parse_forward(Kind::kDynamic, argument);
  if (!forward || forward->kind != Kind::kDynamic || forward->listen.bind.value_or("").empty())
    return std::nullopt;
  return ForwardEnd{*forward->listen.bind, forward->listen.port, ""};
}

std::optional<std::vector<Forward>> configured_forwards(const SshConfig& config) {
  std::vector<Forward> forwards;
  if (!add_printed(Kind::kLocal, config.lines("localforward"), forwards)) return std::nullopt;
  if (!add_dynamic(config.lines("dynamicforward"), forwards)) return std::nullopt;
  if (!add_printed(Kind::kRemote, config.lines("remoteforward"), forwards)) return std::nullopt;
  return forwards;
}

}  // namespace mcdtp
