#include "client/own_options.h"

#include <algorithm>
#include <array>
#include <span>

#include "common/core/congestion/congestion.h"
#include "common/core/scaled_number.h"
#include "common/core/whole_number.h"

namespace mcdtp {
namespace {

constexpr double kMinRate = 1e3;
constexpr double kMaxRate = 1e12;
constexpr double kMinMemory = 8.0 * (1 << 20);
constexpr double kMaxMemory = 1024.0 * (1 << 30);

using Complaint = std::optional<std::string>;

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Nothing when `text` is not all digits or the number is outside [low, high].
std::optional<unsigned> parse_count(std::string_view text, unsigned low, unsigned high) {
  const auto value = parse_whole<unsigned>(text);
  return value && *value >= low && *value <= high ? value : std::nullopt;
}

// "a, b and c".
std::string listed(std::span<const std::string_view> names) {
  std::string text(names[0]);
  for (std::size_t i = 1; i < names.size(); ++i) {
    text.append(i + 1 < names.size() ? ", " : " and ").append(names[i]);
  }
  return text;
}

Complaint read_channels(const std::string& value, Options& options) {
  const auto count = parse_count(value, 1, kMaxDatagramChannels);
  if (!count) return "-c " + value + ": the number of channels must be 1 to 64";
  options.channels = *count;
  return std::nullopt;
}

Complaint read_port_range(const std::string& value, Options& options) {
  const auto dash = value.find('-');
  const auto low = parse_count(value.substr(0, dash), 1, 65535);
  const auto high = dash == std::string::npos ? low : parse_count(value.substr(dash + 1), 1, 65535);
  if (dash == std::string::npos || !low || !high || *low > *high) {
    return "--port-range " + value + ": give LOW-HIGH, two ports of 1 to 65535 such as 60000-61000";
  }
  options.ports = {static_cast<std::uint16_t>(*low), static_cast<std::uint16_t>(*high)};
  return std::nullopt;
}

Complaint read_congestion(const std::string& value, Options& options) {
  if (std::find(kCongestionNames.begin(), kCongestionNames.end(), value) == kCongestionNames.end())
    return "--cc " + value + ": there are " + listed(kCongestionNames);
  options.congestion = value;
  return std::nullopt;
}

Complaint read_pacing(const std::string& value, Options& options) {
  if (value.empty() || !find_pacing(value)) return "--pacing " + value + ": there are even and burst";
  options.pacing = value;
  return std::nullopt;
}

Complaint read_coupling(const std::string& value, Options& options) {
  if (value != "coupled" && value != "none") return "--coupling " + value + ": there are coupled and none";
  options.coupling = value == "coupled" ? Coupling::kCoupled : Coupling::kNone;
  return std::nullopt;
}

Complaint read_transport(const std::string& value, Options& options) {
  const auto transport = find_transport(value);
  if (!transport) return "--transport " + value + ": there are " + listed(kTransportNames);
  options.transport = *transport;
  return std::nullopt;
}

Complaint read_mtu(const std::string& value, Options& options) {
  const auto bytes = parse_count(value, kMinDatagram, kMaxDatagram);
  if (!bytes) return "--mtu " + value + ": give 1200 to 65507, the bytes of UDP payload in a datagram";
  options.max_datagram = *bytes;
  return std::nullopt;
}

Complaint read_rate(const std::string& name, const std::string& value, std::optional<std::uint64_t>& bits) {
  const auto rate = parse_scaled(value, 1000);
  if (!rate || *rate < kMinRate || *rate > kMaxRate) {
    return name + " " + value + ": give 1k to 1T bit/s, such as 80M, 1.5G or 500k";
  }
  bits = static_cast<std::uint64_t>(*rate);
  return std::nullopt;
}

Complaint read_memory(const std::string& value, Options& options) {
  const auto size = parse_scaled(value, 1024);
  if (!size || *size < kMinMemory || *size > kMaxMemory) {
    return "--memory " + value + ": give 8M to 1T bytes, such as 64M";
  }
  options.memory_bytes = static_cast<std::uint64_t>(*size);
  return std::nullopt;
}

Complaint read_bootstrap(const std::string& value, Options& options) {
  if (value == "auto") {
    options.backend = BackendChoice::kAuto;
  } else if (value == "libssh2") {
    options.backend = BackendChoice::kLibssh2;
  } else if (value == "ssh") {
    options.backend = BackendChoice::kSsh;
  } else {
    return "--bootstrap " + value + ": there are auto, libssh2 and ssh";
  }
  return std::nullopt;
}

Complaint read_server(const std::string& value, Options& options) {
  if (value.empty()) return "--server: the path of mcdtp-server is empty";
  options.server_path = value;
  return std::nullopt;
}

Complaint read_server_subsystem(const std::string& value, Options& options) {
  if (value.empty() || value.starts_with('-')) return "--server-subsystem: give the name of a subsystem";
  options.server_subsystem = value;
  return std::nullopt;
}

Complaint read_install(const std::string& value, Options& options) {
  const auto wanted = parse_switch(value.empty() ? "yes" : value);
  if (!wanted) return "--install=" + value + ": there are yes and no";
  options.install = *wanted;
  return std::nullopt;
}

Complaint read_path(const std::string& name, const std::string& value, std::optional<std::string>& path) {
  if (value.empty()) return name + ": the name of the file is empty";
  path = value;
  return std::nullopt;
}

// It stands among the server's words.
Complaint read_far_path(const std::string& name, const std::string& value, std::optional<std::string>& path) {
  if (value.starts_with('-')) return name + " " + value + ": the name of the file starts with a dash";
  return read_path(name, value, path);
}

Complaint ask(Action action, Options& options) {
  options.action = action;
  return std::nullopt;
}

struct OwnOption {
  std::string_view name;
  ValueRule rule;
  Complaint (*read)(const std::string& value, Options& options);
};

constexpr std::array kOwnOptions = {
    OwnOption{"port-range", ValueRule::kRequired, read_port_range},
    OwnOption{"cc", ValueRule::kRequired, read_congestion},
    OwnOption{"pacing", ValueRule::kRequired, read_pacing},
    OwnOption{"coupling", ValueRule::kRequired, read_coupling},
    OwnOption{"transport", ValueRule::kRequired, read_transport},
    OwnOption{"mtu", ValueRule::kRequired, read_mtu},
    OwnOption{
        "rate", ValueRule::kRequired,
        [](const std::string& v, Options& o) { return read_rate("--rate", v, o.rate_bits_per_second); }},
    OwnOption{"max-rate", ValueRule::kRequired,
              [](const std::string& v, Options& o) {
                return read_rate("--max-rate", v, o.max_rate_bits_per_second);
              }},
    OwnOption{"memory", ValueRule::kRequired, read_memory},
    OwnOption{"bootstrap", ValueRule::kRequired, read_bootstrap},
    OwnOption{"server", ValueRule::kRequired, read_server},
    OwnOption{"install", ValueRule::kOptional, read_install},
    OwnOption{"server-subsystem", ValueRule::kRequired, read_server_subsystem},
    OwnOption{"log", ValueRule::kRequired,
              [](const std::string& v, Options& o) { return read_path("--log", v, o.log_path); }},
    OwnOption{"log-full", ValueRule::kRequired,
              [](const std::string& v, Options& o) { return read_path("--log-full", v, o.full_log_path); }},
    OwnOption{"far-log", ValueRule::kRequired,
              [](const std::string& v, Options& o) { return read_far_path("--far-log", v, o.far_log_path); }},
    OwnOption{"far-log-full", ValueRule::kRequired,
              [](const std::string& v, Options& o) {
                return read_far_path("--far-log-full", v, o.far_full_log_path);
              }},
    OwnOption{"relay", ValueRule::kNone,
              [](const std::string&, Options& o) -> Complaint {
                o.relay = true;
                return std::nullopt;
              }},
    OwnOption{"help", ValueRule::kNone, [](const std::string&, Options& o) { return ask(Action::kHelp, o); }},
    OwnOption{"version", ValueRule::kNone,
              [](const std::string&, Options& o) { return ask(Action::kVersion, o); }},
};

const OwnOption* find_own(std::string_view name) {
  const auto found = std::find_if(kOwnOptions.begin(), kOwnOptions.end(),
                                  [&](const OwnOption& option) { return option.name == name; });
  return found == kOwnOptions.end() ? nullptr : &*found;
}

}  // namespace

ValueRule own_option_rule(std::string_view name) {
  const OwnOption* own = find_own(name);
  return own ? own->rule : ValueRule::kUnknown;
}

bool is_channel_count(const SshOption& option) {
  return option.letter == 'c' && option.value && all_digits(*option.value);
}

std::optional<SshOption> own_option_of(std::string_view keyword, const std::string& value) {
  SshOption option;
  option.value = value;
  if (keyword == "channels") {
    option.letter = 'c';
    return option;
  }
  const auto without_dashes = [](std::string_view name) {
    std::string text(name);
    std::erase(text, '-');
    return text;
  };
  const auto found = std::find_if(kOwnOptions.begin(), kOwnOptions.end(), [&](const OwnOption& own) {
    return without_dashes(own.name) == without_dashes(keyword);
  });
  if (found == kOwnOptions.end() || found->rule == ValueRule::kNone) return std::nullopt;
  option.name = found->name;
  return option;
}

std::optional<std::string> apply_own_option(const SshOption& option, Options& options) {
  if (option.letter == 'c') return read_channels(*option.value, options);
  const OwnOption* own = find_own(option.name);
  if (!own) return "unknown option --" + option.name + " (mcdtp-shim --help lists them)";
  if (own->rule == ValueRule::kRequired && !option.value) return "--" + option.name + " needs a value";
  if (own->rule == ValueRule::kNone && option.value) return "--" + option.name + " takes no value";
  return own->read(option.value.value_or(""), options);
}

std::vector<std::string> words_of_way(const Options& options) {
  const Options usual;
  std::vector<std::string> words;
  const auto add = [&words](const std::string& name, const std::string& value) {
    words.insert(words.end(), {name, value});
  };
  const auto add_number = [&add](const std::string& name, std::optional<std::uint64_t> number) {
    if (number) add(name, std::to_string(*number));
  };
  if (options.channels != usual.channels) add_number("-c", options.channels);
  if (options.congestion != usual.congestion) add("--cc", options.congestion);
  if (options.pacing != usual.pacing) add("--pacing", options.pacing);
  if (options.coupling != usual.coupling) add("--coupling", "none");
  if (options.transport != usual.transport)
    add("--transport", std::string(transport_name(options.transport)));
  if (options.max_datagram != usual.max_datagram) add_number("--mtu", options.max_datagram);
  add_number("--rate", options.rate_bits_per_second);
  add_number("--max-rate", options.max_rate_bits_per_second);
  add_number("--memory", options.memory_bytes);
  return words;
}

std::optional<std::string> check_own_options(Options& options, bool congestion_given, bool channels_given) {
  // Nobody logs in more than once without being asked to.
  if (options.transport == Transport::kSsh && !channels_given) options.channels = 1;
  const bool has_rate = options.rate_bits_per_second.has_value();
  if (has_rate && !congestion_given) options.congestion = "fixed";
  const bool fixed = options.congestion == "fixed";
  if (fixed && !has_rate) return "--cc fixed needs --rate, such as --rate 80M";
  if (!fixed && has_rate) return "--rate is for --cc fixed, not for --cc " + options.congestion;
  if (!fixed && !options.pacing.empty())
    return "--pacing is for --cc fixed, not for --cc " + options.congestion;
  return std::nullopt;
}

}  // namespace mcdtp
