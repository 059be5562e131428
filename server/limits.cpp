#include "server/limits.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "common/core/credit.h"
#include "common/core/scaled_number.h"
#include "common/core/shell_words.h"
#include "common/io/file_text.h"

namespace mcdtp {
namespace {

// At least `lowest`.
std::optional<std::uint64_t> parse_amount(std::string_view text, double step, double lowest) {
  const auto value = parse_scaled(text, step);
  if (!value || !(*value >= lowest && *value <= 1e18)) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

bool read_ports(const std::string& value, Limits& limits) {
  limits.ports = parse_port_range(value);
  return limits.ports.has_value();
}

bool read_rate(const std::string& value, Limits& limits) {
  limits.rate_bps = parse_amount(value, 1000, 1000);
  return limits.rate_bps.has_value();
}

bool read_memory(const std::string& value, Limits& limits) {
  limits.memory_bytes = parse_amount(value, 1024, static_cast<double>(kMinMemory));
  return limits.memory_bytes.has_value();
}

bool read_forwards(const std::string& value, Limits& limits) {
  limits.forwards = value == "yes";
  return value == "yes" || value == "no";
}

bool read_gateway_ports(const std::string& value, Limits& limits) {
  constexpr std::array kNames = {std::pair{"no", GatewayPorts::kNo}, std::pair{"yes", GatewayPorts::kYes},
                                 std::pair{"clientspecified", GatewayPorts::kClientSpecified}};
  for (const auto& [name, meaning] : kNames) {
    if (value == name) limits.gateway_ports = meaning;
  }
  return std::any_of(kNames.begin(), kNames.end(), [&](const auto& known) { return value == known.first; });
}

struct Setting {
  const char* name;
  bool (*read)(const std::string& value, Limits& limits);
  const char* wanted;
};

constexpr std::array kSettings = {
    Setting{"PortRange", read_ports, "LOW-HIGH, two ports from 1 to 65535"},
    Setting{"MaxRate", read_rate, "bits a second from 1k on, such as 500M"},
    Setting{"MaxMemory", read_memory, "bytes from 8M on, such as 64M"},
    Setting{"Forwards", read_forwards, "yes or no"},
    Setting{"GatewayPorts", read_gateway_ports, "no, yes or clientspecified"},
};

void read_line(const std::string& line, const std::string& place, Limits& limits) {
  const auto words = split_shell_words(line.substr(0, line.find_last_not_of('\r') + 1), '#');
  if (!words) throw std::runtime_error(place + ": a quote is not closed");
  if (words->empty()) return;
  const auto setting = std::find_if(kSettings.begin(), kSettings.end(), [&](const Setting& known) {
    return strcasecmp(known.name, words->front().c_str()) == 0;
  });
  if (setting == kSettings.end()) throw std::runtime_error(place + ": there is no setting " + words->front());
  if (words->size() == 2 && setting->read(words->back(), limits)) return;
  throw std::runtime_error(place + ": " + setting->name + " wants " + setting->wanted);
}

template <typename Value>
std::optional<Value> smaller(const std::optional<Value>& one, const std::optional<Value>& other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

// What lies in both; unset: nothing.
std::optional<PortRange> common_ports(const PortRange& one, const PortRange& other) {
  const PortRange both{std::max(one.low, other.low), std::min(one.high, other.high)};
  return both.low <= both.high ? std::optional(both) : std::nullopt;
}

}  // namespace

// The last value of a setting counts.
Limits parse_limits(std::string_view text, const std::string& path) {
  Limits limits;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const auto end = std::min(text.find('\n'), text.size());
    read_line(std::string(text.substr(0, end)), path + " line " + std::to_string(line), limits);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return limits;
}

Limits read_limits(const std::string& path, bool may_lack) {
  const FileText file = read_file_text(path);
  if (may_lack && (file.error == ENOENT || file.error == ENOTDIR)) return {};
  if (file.error != 0) throw std::runtime_error("read " + path + ": " + file.reason());
  return parse_limits(file.text, path);
}

Limits tighter(const Limits& one, const Limits& other) {
  Limits both;
  both.ports = one.ports ? one.ports : other.ports;
  if (one.ports && other.ports) both.ports = common_ports(*one.ports, *other.ports);
  if (!both.ports && one.ports)
    throw std::runtime_error("apply the limits: their port ranges have no port in common");
  both.rate_bps = smaller(one.rate_bps, other.rate_bps);
  both.memory_bytes = smaller(one.memory_bytes, other.memory_bytes);
  both.forwards = one.forwards && other.forwards;
  both.gateway_ports = smaller(one.gateway_ports, other.gateway_ports);
  return both;
}

Limits limits_where_forced(Limits limits) {
  if (!limits.ports) limits.ports = PortRange{};
  if (!limits.memory_bytes) limits.memory_bytes = default_memory();
  return limits;
}

void apply_limits(const Limits& limits, ServerOptions& options) {
  if (limits.ports) options.ports = common_ports(*limits.ports, options.ports).value_or(*limits.ports);
  if (limits.memory_bytes) options.memory_bytes = std::min(options.memory_bytes, *limits.memory_bytes);
  options.max_rate_bps = smaller(options.max_rate_bps, limits.rate_bps);
  options.policy.gateway_ports = limits.gateway_ports.value_or(GatewayPorts::kNo);
  if (!limits.forwards) options.policy.local_forwards = options.policy.remote_forwards = false;
}

}  // namespace mcdtp
