#include "common/core/exec_line.h"

#include <algorithm>

#include "common/core/exec_words.h"

namespace mcdtp {
namespace {

// The words of the server stand between these two in every version of the line.
constexpr std::string_view kExecLineStart = R"sh(exec sh -c 'eval "set -- $(printf %b ")sh";
constexpr std::string_view kExecWordsEnd = R"sh(")"; )sh";
// The start line as the exec line has it printed, around its word. They stand apart: a forced command may show the exec
// line by an echo that makes newlines of \n.
constexpr std::string_view kStartPrinted = R"sh(printf "\nMCDTP start %s\n" )sh";
constexpr std::string_view kStartPrintedEnd = "; ";
constexpr std::string_view kStartOption = "--start";
constexpr std::string_view kRequestStart = "MCDTP request ";
constexpr std::string_view kEnvironmentStart = "MCDTP env ";
// Looked in after PATH: a login's PATH may lack them.
constexpr std::string_view kServerPlaces =
    "$HOME/.local/bin:$HOME/bin:/usr/local/bin:/usr/bin:/opt/mcdtp/bin";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Prints where the server is, or nothing.
std::string server_lookup(std::string_view server) {
  if (server.empty()) return "command -v mcdtp-server";
  if (is_plain(server)) return "command -v " + std::string(server);
  const bool in_home = server.starts_with("~/");
  const std::string word = in_home ? "\"$HOME\"" + quote(server.substr(1)) : quote(server);
  return R"sh(eval "command -v $(printf %b ")sh" + octal(word) + R"sh(")")sh";
}

// The server's options but --env, each a plain word and its value: the script counts them to drop them again.
std::vector<std::string> fixed_options(const ExecRequest& r) {
  std::vector<std::string> words = {"--protocol", std::to_string(r.protocol)};
  const auto add = [&](const char* name, const std::string& value) {
    words.emplace_back(name);
    words.push_back(value);
  };
  add("--channels", std::to_string(r.channels));
  add("--port-range", std::to_string(r.ports.low) + "-" + std::to_string(r.ports.high));
  if (r.memory_bytes) add("--memory", std::to_string(*r.memory_bytes));
  add("--cc", r.cc);
  if (!r.pacing.empty()) add("--pacing", r.pacing);
  if (r.coupling == Coupling::kNone) add("--coupling", "none");
  if (r.max_datagram != kMaxDatagram) add("--mtu", std::to_string(r.max_datagram));
  if (r.transport != Transport::kAuto) add("--transport", std::string(transport_name(r.transport)));
  if (r.rate_bps) add("--rate", std::to_string(*r.rate_bps));
  if (r.max_rate_bps) add("--max-rate", std::to_string(*r.max_rate_bps));
  if (r.log_path) add("--log", *r.log_path);
  if (r.full_log_path) add("--log-full", *r.full_log_path);
  if (r.subsystem) words.emplace_back("--subsystem");
  if (r.asks_environment) words.emplace_back("--ask-env");
  if (r.no_command) words.emplace_back("--no-command");
  if (r.remote_forwards > 0) add("--remote-forwards", std::to_string(r.remote_forwards));
  if (r.needs_server) words.emplace_back("--no-plain");
  return words;
}

bool can_be_said(const ExecRequest& r) {
  const auto fits = [](std::string_view s) { return s.size() < kMaxExecLine && s.find('\0') == s.npos; };
  for (const auto& [name, value] : r.environment)
    if (!is_variable_name(name) || !fits(value)) return false;
  if (!is_plain(r.install_version)) return false;
  if (!r.start_word.empty() && !is_start_word(r.start_word)) return false;
  if (!fits(r.log_path.value_or("")) || !fits(r.full_log_path.value_or(""))) return false;
  return fits(r.cc) && fits(r.pacing) && fits(r.server_command) && fits(r.command.value_or(""));
}

// The server's arguments, made printable.
std::string encoded_words(const ExecRequest& r, const std::vector<std::string>& options) {
  std::vector<std::string> words = options;
  for (const auto& [name, value] : r.environment) {
    words.emplace_back("--env");
    words.push_back(name + "=" + value);
  }
  if (r.command && !r.no_command) {
    words.emplace_back("--");
    words.push_back(*r.command);
  }
  return encode_words(words);
}

std::string print_start(const std::string& word) {
  return word.empty() ? "" : std::string(kStartPrinted) + word + std::string(kStartPrintedEnd);
}

// The word that print_start() has printed at the beginning of `script`; empty: none.
std::string_view printed_start(std::string_view script) {
  if (!script.starts_with(kStartPrinted)) return {};
  script.remove_prefix(kStartPrinted.size());
  const std::string_view word = script.substr(0, script.find(kStartPrintedEnd));
  return is_start_word(word) ? word : std::string_view();
}

std::string exit_unheard() { return "exit " + std::to_string(kNobodyWaits) + "; "; }

// What the script does when no server was found. $1 is the first word after the fixed options. The shell that runs the
// command is the login's own: it is put behind the words before a variable called SHELL can come. Names that no shell
// exports are left out.
std::string without_server(const ExecRequest& r) {
  if (r.subsystem || r.needs_server) return R"sh(printf "\nMCDTP nosubsystem\n")sh";
  std::string script;
  if (r.asks_environment) script += R"sh(set -- "$@" "${SHELL:-/bin/sh}"; )sh";
  if (!r.environment.empty()) script += R"sh(while [ "$1" = --env ]; do export "$2"; shift 2; done; )sh";
  if (r.asks_environment) {
    script += R"sh(printf "\nMCDTP env\n"; read -r mcdtp_a mcdtp_b mcdtp_c || )sh" + exit_unheard();
    script += R"sh(if [ "$mcdtp_a$mcdtp_b" = MCDTPenv ]; then )sh";
    script +=
        R"sh(for mcdtp_a in $mcdtp_c; do eval "command export $(printf %b "$mcdtp_a")" 2>/dev/null; done; fi; )sh";
  }
  const char* shell = !r.asks_environment ? "${SHELL:-/bin/sh}" : r.command ? "$3" : "$1";
  script += R"sh(printf "\nMCDTP plain\n"; exec ")sh" + std::string(shell);
  return script + (r.command ? R"sh(" -c "$2")sh" : R"sh(" -l)sh");
}

// Runs a server that was found, if it is of the same version; else makes $1 the one that is installed, or is to be.
// Where nothing can be written or run there, the one that was found stays in $1. What is sent is read to its end in
// every case, for the command's stdin follows it: without a head that counts bytes none is asked for. Where there is
// nothing, nobody waits, and nothing runs. What may fail for want of a reader, as a word on stderr, comes last. Other
// variables than these would be the command's.
std::string with_installation(const ExecRequest& r) {
  std::string script =
      R"sh(if [ -x "$1" ]; then case "$("$1" --version 2>/dev/null)" in ")sh" + server_version();
  script += R"sh(") exec "$@";; esac; fi; set -- "$HOME/.cache/mcdtp/)sh" + r.install_version;
  script += R"sh(/$(uname -m)/mcdtp-server" "$@"; )sh";
  script +=
      R"sh(if [ -x "$1" ] && "$1" --version </dev/null >/dev/null 2>&1; then :; elif [ "$(echo mcdtp | head -c 3 2>/dev/null)" = mcd ] && (umask 077; mkdir -p "${1%/*}" && : >"$1.$$") 2>/dev/null; then )sh";
  script += R"sh(printf "\nMCDTP install %s\n" "$(uname -m)"; )sh";
  script += R"sh(read -r mcdtp_go mcdtp_size mcdtp_sum || { rm -f "$1.$$"; )sh" + exit_unheard() + "}; ";
  script +=
      R"sh(if [ "$mcdtp_go" = send ]; then head -c "$mcdtp_size" | { cat >"$1.$$"; cat >/dev/null; }; )sh";
  script +=
      R"sh(case "$({ sha256sum || busybox sha256sum || openssl dgst -sha256 -r; } <"$1.$$" 2>/dev/null)" in )sh";
  script +=
      R"sh("$mcdtp_sum "*) chmod 700 "$1.$$" && "$1.$$" --version >/dev/null 2>&1 && mv -f "$1.$$" "$1";; esac; )sh";
  script += R"sh(fi; rm -f "$1.$$"; )sh";
  script +=
      R"sh(case "$mcdtp_go" in send) [ -x "$1" ] || echo "mcdtp-server could not be installed as $1" >&2;; esac; )sh";
  script += R"sh(else echo "mcdtp-server cannot be installed as $1" >&2; fi; )sh";
  return script +
         R"sh(if [ -x "$1" ]; then mcdtp_go=$1; shift 2; set -- "$mcdtp_go" "$@"; else shift; fi; )sh";
}

// A client that waits no longer closes our stdin; but what it is told too late it cannot take into account. So where the
// login shell took its time, whatever is to run waits until the client says that it is still there. The shell's process
// is ours, and its age, in seconds, what it took (a clock tick is 10 ms for all of Linux). Without /proc nobody is asked.
std::string ask_if_slow() {
  std::string script =
      R"sh(mcdtp_f() { [ $((${mcdtp_a%%.*} - ${22} / 100)) -gt 1 ]; }; if { read -r mcdtp_a </proc/uptime && )sh";
  script += R"sh(read -r mcdtp_b </proc/$$/stat && mcdtp_f $mcdtp_b; } 2>/dev/null; then )sh";
  return script + R"sh(printf "\nMCDTP slow\n"; read -r mcdtp_a || )sh" + exit_unheard() + "fi; ";
}

}  // namespace

bool is_variable_name(std::string_view name) {
  const auto fits = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  return !name.empty() && !is_digit(name[0]) && std::all_of(name.begin(), name.end(), fits);
}

// The words come out of one eval, so that the trailing newlines of a value survive the $(...); they live in
// the positional parameters, because assigning to a variable changes it for the command where it was
// exported. No single quote, exclamation mark, newline, or two backslashes in a row: csh and fish would read
// those.
std::optional<std::string> build_exec_line(const ExecRequest& r) {
  if (!can_be_said(r)) return std::nullopt;
  const std::vector<std::string> options = fixed_options(r);
  std::string line = std::string(kExecLineStart) + encoded_words(r, options) + std::string(kExecWordsEnd);
  line += print_start(r.start_word) + ask_if_slow();
  line += R"sh(set -- "$(PATH=${PATH:+$PATH:})sh" + std::string(kServerPlaces) + "; ";
  line += server_lookup(r.server_command) + R"sh()" "$@"; )sh";
  if (!r.install_version.empty()) line += with_installation(r);
  line += R"sh(if [ -f "$1" ] && [ -x "$1" ]; then exec "$@"; fi; )sh";
  line += "shift " + std::to_string(options.size() + 1) + "; " + without_server(r) + "'";
  if (line.size() > kMaxExecLine) return std::nullopt;
  return line;
}

std::optional<std::vector<std::string>> parse_exec_line(std::string_view line) {
  if (!line.starts_with(kExecLineStart)) return std::nullopt;
  line.remove_prefix(kExecLineStart.size());
  const std::size_t end = line.find(kExecWordsEnd);
  if (end == line.npos) return std::nullopt;
  auto words = decode_words(line.substr(0, end));
  const std::string_view start = printed_start(line.substr(end + kExecWordsEnd.size()));
  if (words && !start.empty()) words->insert(words->begin(), {std::string(kStartOption), std::string(start)});
  return words;
}

std::optional<std::string> build_request_line(const ExecRequest& r) {
  if (!can_be_said(r)) return std::nullopt;
  std::vector<std::string> options = fixed_options(r);
  if (!r.start_word.empty()) options.insert(options.begin(), {std::string(kStartOption), r.start_word});
  std::string line = std::string(kRequestStart) + encoded_words(r, options) + "\n";
  if (line.size() > kMaxExecLine) return std::nullopt;
  return line;
}

std::optional<std::vector<std::string>> parse_request_line(std::string_view line) {
  if (!line.starts_with(kRequestStart) || !line.ends_with('\n')) return std::nullopt;
  line.remove_prefix(kRequestStart.size());
  line.remove_suffix(1);
  return decode_words(line);
}

std::optional<std::string> build_environment_line(const Environment& environment) {
  std::vector<std::string> words;
  for (const auto& [name, value] : environment) {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != name.npos) return std::nullopt;
    if (value.find('\0') != value.npos) return std::nullopt;
    words.push_back(name + "=" + value);
  }
  std::string line = std::string(kEnvironmentStart) + encode_words(words) + "\n";
  if (line.size() > kMaxExecLine) return std::nullopt;
  return line;
}

std::optional<Environment> parse_environment_line(std::string_view line) {
  if (!line.starts_with(kEnvironmentStart) || !line.ends_with('\n')) return std::nullopt;
  line.remove_prefix(kEnvironmentStart.size());
  line.remove_suffix(1);
  const auto words = decode_words(line);
  if (!words) return std::nullopt;
  Environment environment;
  for (const std::string& word : *words) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos || equals == 0) return std::nullopt;
    environment.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return environment;
}

}  // namespace mcdtp
