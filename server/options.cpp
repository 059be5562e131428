#include "server/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "common/core/congestion/congestion.h"
#include "common/core/whole_number.h"

namespace mcdtp {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void refuse(const std::string& reason) {
  throw std::runtime_error("read the options: " + reason);
}

std::pair<std::string, std::string> parse_environment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || !is_variable_name(std::string_view(text).substr(0, equals)))
    refuse("--env: " + text + " is not NAME=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// What stands after the first "--" is the command, word for word: no option parser looks at it.
void take_command(Words& words, ServerOptions& options) {
  const auto mark = std::find(words.begin(), words.end(), "--");
  if (mark == words.end()) return;
  if (words.end() - mark != 2) refuse("exactly one word, the command, stands after --");
  options.command = std::move(words.back());
  words.erase(mark, words.end());
}

// What every version of the exec line has said, and will.
void add_common(CLI::App& app, ServerOptions& options, Words& environment) {
  app.add_option("--protocol", options.protocol, "Version of the protocol that the client speaks")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()));
  app.add_option("--start", options.start_word, "What to say first, that the client knows us by")
      ->type_name("WORD");
  app.add_flag("--subsystem", options.subsystem, "COMMAND is the name of a subsystem");
  app.add_flag("--no-plain", options.no_plain, "Run nothing for a client of another version");
  app.add_option("--env", environment, "Variable for the command's environment; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void add_task(CLI::App& app, ServerOptions& options) {
  app.set_version_flag("--version", server_version());
  app.add_flag("--ask-env", options.asks_environment, "Ask on stdout for more variables, to come on stdin");
  app.add_flag("--no-command", options.no_command, "Run nothing: the client only forwards ports");
  app.add_option("--remote-forwards", options.remote_forwards,
                 "Begin the command after so many ports were asked for")
      ->check(CLI::Range(std::size_t{0}, std::size_t{std::numeric_limits<std::uint16_t>::max()}));
  app.add_flag_callback(
      "--no-forwards", [&options] { options.policy.local_forwards = options.policy.remote_forwards = false; },
      "Refuse to forward ports");
}

void add_ways(CLI::App& app, ServerOptions& options, std::string& ports) {
  app.add_option("--channels", options.channels, "UDP channels wished")
      ->check(CLI::Range(1U, unsigned{kMaxDatagramChannels}));
  app.add_option("--port-range", ports, "Ports to listen on, UDP and TCP")->type_name("LOW-HIGH");
  app.add_option("--memory", options.memory_bytes, "Bytes of memory for data on its way, at most")
      ->check(CLI::Range(kMinMemory, std::numeric_limits<std::uint64_t>::max()));
  app.add_option("--mtu", options.max_datagram, "Bytes of UDP payload in a datagram, at most")
      ->check(CLI::Range(kMinDatagram, kMaxDatagram));
  const auto read_transport = [&options](const std::string& name) {
    const auto transport = find_transport(name);
    if (!transport) refuse("--transport " + name + ": there are auto, tcp and ssh");
    options.transport = *transport;
  };
  app.add_option_function<std::string>("--transport", read_transport,
                                       "What carries the data: as found, no UDP, or SSH alone")
      ->type_name("auto|tcp|ssh");
}

void add_logs(CLI::App& app, ServerOptions& options) {
  app.add_option("--log", options.log_path, "File to which a line on the transfer is appended")
      ->type_name("FILE");
  app.add_option("--log-full", options.full_log_path, "File to which the course of the transfer is appended")
      ->type_name("FILE");
}

void add_congestion(CLI::App& app, ServerOptions& options) {
  app.add_option("--cc", options.cc, "Congestion control")->type_name("NAME");
  app.add_option("--pacing", options.pacing, "How --cc fixed spaces what it sends, even or burst")
      ->type_name("NAME");
  const auto read_coupling = [&options](const std::string& name) {
    if (name != "coupled" && name != "none") refuse("--coupling " + name + ": there are coupled and none");
    options.coupling = name == "none" ? Coupling::kNone : Coupling::kCoupled;
  };
  app.add_option_function<std::string>("--coupling", read_coupling,
                                       "One congestion control for all channels, or one each")
      ->type_name("coupled|none");
  app.add_option("--rate", options.rate_bps, "Bits of payload a second, for --cc fixed")
      ->check(CLI::Range(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()));
  app.add_option("--max-rate", options.max_rate_bps, "Bits of payload a second at most, whatever --cc finds")
      ->check(CLI::Range(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()));
}

// CLI11 takes the words last first.
void parse_words(CLI::App& app, const Words& words) {
  try {
    app.parse(Words(words.rbegin(), words.rend()));
  } catch (const CLI::ExtrasError&) {
    refuse("a word that is no option of ours; a command stands after --");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) throw;
    refuse(error.what());
  }
}

// Another version may say what we do not know, and the command still has to run: the strict parser gets its
// turn only when the client speaks our version.
bool speaks_our_version(const Words& words, ServerOptions& options) {
  Words environment;
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  add_common(app, options, environment);
  parse_words(app, words);
  for (const std::string& text : environment) options.environment.push_back(parse_environment(text));
  return options.protocol == kProtocolVersion;
}

void check_congestion(const ServerOptions& options) {
  if (options.cc == "fixed" && !options.rate_bps) refuse("--cc fixed needs --rate");
  if (options.cc != "fixed" && options.rate_bps) refuse("--rate is for --cc fixed");
  if (!find_pacing(options.pacing)) refuse("--pacing: there are even and burst");
  if (!options.pacing.empty() && options.cc != "fixed") refuse("--pacing is for --cc fixed");
}

void parse_all(const Words& words, ServerOptions& options) {
  std::string ports;
  Words environment;
  CLI::App app("The far end of mcdtp-shim, which starts it through ssh.", "mcdtp-server");
  add_common(app, options, environment);
  add_task(app, options);
  add_ways(app, options, ports);
  add_congestion(app, options);
  add_logs(app, options);
  app.footer(
      "-- COMMAND, one word, is run by your shell; without it the shell reads from stdin.\n\n"
      "For administrators, instead of all these; see mcdtp-server(1):\n"
      "  --forced COMMAND [--limits FILE]   in authorized_keys: runs it, whatever the client asks for\n"
      "  --ask [--limits FILE]              as a Subsystem in sshd_config");
  try {
    parse_words(app, words);
  } catch (const CLI::CallForHelp&) {
    options.print = app.help();
  } catch (const CLI::CallForVersion& version) {
    options.print = std::string(version.what()) + "\n";
  }
  if (const auto range = parse_port_range(ports))
    options.ports = *range;
  else if (!ports.empty())
    refuse("--port-range: " + ports + " is not LOW-HIGH, two ports from 1 to 65535");
  check_congestion(options);
}

}  // namespace

std::optional<PortRange> parse_port_range(const std::string& text) {
  const std::size_t dash = text.find('-');
  const std::size_t after = dash == text.npos ? text.size() : dash + 1;
  const auto low = parse_whole<std::uint16_t>(std::string_view(text).substr(0, dash));
  const auto high = parse_whole<std::uint16_t>(std::string_view(text).substr(after));
  if (!low || !high || *low == 0 || *low > *high) return std::nullopt;
  return PortRange{*low, *high};
}

ServerOptions parse_server_words(Words words) {
  ServerOptions options;
  take_command(words, options);
  if (speaks_our_version(words, options)) parse_all(words, options);
  if (!options.start_word.empty() && !is_start_word(options.start_word))
    refuse("--start: it is of letters, digits and _ . / - alone");
  if (options.subsystem && !options.command) refuse("--subsystem needs its name after --");
  if (options.no_command && options.command) refuse("--no-command and a command");
  return options;
}

}  // namespace mcdtp
