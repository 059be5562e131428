#include "common/core/greeting.h"

#include <algorithm>

#include "common/core/check.h"
#include "common/core/exec_words.h"
#include "common/core/whole_number.h"

namespace mcdtp {
namespace {

constexpr std::string_view kLineStart = "\nMCDTP ";
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

bool is_question(std::string_view line) {
  return line == ask_line() || line == environment_question() ||
         line.starts_with(std::string(kLineStart) + std::string(kInstallQuestion));
}

// The line of ours at the beginning of `text`; empty: there is none. Unset: more bytes may make one.
std::optional<std::string_view> line_of_ours(std::string_view text) {
  const std::size_t size = std::min(text.size(), kLineStart.size());
  if (text.substr(0, size) != kLineStart.substr(0, size)) return std::string_view();
  const std::size_t end = text.substr(0, GreetingFinder::kMaxLine).find('\n', 1);
  if (end != text.npos) return text.substr(0, end + 1);
  if (text.size() < GreetingFinder::kMaxLine) return std::nullopt;
  return std::string_view();
}

// The text up to the next `end`, which is taken too; unset where there is none.
std::optional<std::string_view> take_until(std::string_view& text, char end) {
  const std::size_t size = text.find(end);
  if (size == text.npos) return std::nullopt;
  const std::string_view word = text.substr(0, size);
  text.remove_prefix(size + 1);
  return word;
}

// 1 to 65535 with no leading zero.
std::optional<std::uint16_t> parse_port(std::string_view text) {
  return text.starts_with('0') ? std::nullopt : parse_whole<std::uint16_t>(text);
}

// "-" is an empty list.
bool parse_ports(std::string_view text, std::vector<std::uint16_t>& ports) {
  if (text == "-") return true;
  for (bool last = false; !last;) {
    const std::optional<std::string_view> word = take_until(text, ',');
    last = !word;
    const std::optional<std::uint16_t> port = parse_port(word.value_or(text));
    if (!port || ports.size() == kMaxDatagramChannels) return false;
    if (std::find(ports.begin(), ports.end(), *port) != ports.end()) return false;
    ports.push_back(*port);
  }
  return true;
}

bool parse_secret(std::string_view text, std::array<std::uint8_t, 32>& secret) {
  std::optional<std::vector<std::uint8_t>> bytes = from_hex(text);
  if (!bytes) return false;
  const bool fits = bytes->size() == secret.size();
  if (fits) std::copy(bytes->begin(), bytes->end(), secret.begin());
  wipe(*bytes);
  return fits;
}

bool parse_tcp_port(std::string_view text, std::optional<std::uint16_t>& port) {
  if (text == "-") return true;
  port = parse_port(text);
  return port.has_value();
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

bool is_greeting_address(std::string_view text) {
  const auto fits = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '.' || c == ':';
  };
  return text.size() >= 2 && text.size() <= 45 && std::all_of(text.begin(), text.end(), fits);
}

std::string format_greeting(const Greeting& g) {
  CHECK(g.udp_ports.size() <= kMaxDatagramChannels && (g.address.empty() || is_greeting_address(g.address)));
  std::string line(kLineStart);
  // Grown once, so that no copy of the secret stays behind.
  line.reserve(GreetingFinder::kMaxLine);
  static constexpr char kDigits[] = "0123456789abcdef";
  line += std::to_string(g.version) + " ";
  for (const std::uint8_t byte : g.secret) (line += kDigits[byte >> 4]) += kDigits[byte & 15];
  line += " " + std::string(cipher_name(g.cipher)) + " ";
  line += (g.tcp_port ? std::to_string(*g.tcp_port) : "-") + " ";
  for (std::size_t i = 0; i < g.udp_ports.size(); ++i)
    line += (i ? "," : "") + std::to_string(g.udp_ports[i]);
  line += g.udp_ports.empty() ? "- " : " ";
  return line += (g.address.empty() ? "-" : g.address) + "\n";
}

std::optional<Greeting> parse_greeting(std::string_view line) {
  if (line.size() > GreetingFinder::kMaxLine || !line.starts_with(kLineStart) || !line.ends_with('\n'))
    return {};
  line = line.substr(kLineStart.size(), line.size() - kLineStart.size() - 1);
  if (line.find('\n') != line.npos || take_until(line, ' ') != std::to_string(kProtocolVersion)) return {};
  Greeting g;
  if (!parse_secret(take_until(line, ' ').value_or(""), g.secret)) return {};
  const std::optional<Cipher> cipher = parse_cipher(take_until(line, ' ').value_or(""));
  if (!cipher) return {};
  g.cipher = *cipher;
  if (!parse_tcp_port(take_until(line, ' ').value_or(""), g.tcp_port)) return {};
  if (!parse_ports(take_until(line, ' ').value_or(""), g.udp_ports)) return {};
  if (line != "-" && !is_greeting_address(line)) return {};
  if (line != "-") g.address = line;
  return g;
}

bool is_start_word(std::string_view word) {
  constexpr std::size_t kMaxStartWord = 64;
  return !word.empty() && word.size() <= kMaxStartWord && is_plain(word);
}

std::string start_line(std::string_view word) {
  CHECK(is_start_word(word));
  return std::string(kLineStart) + "start " + std::string(word) + "\n";
}

GreetingFinder::Result GreetingFinder::feed(Bytes data) {
  CHECK(result_ == Result::kMore || result_ == Result::kAsks);
  if (result_ == Result::kAsks) forget_line();
  append(data);
  result_ = scan();
  if (result_ == Result::kMore || result_ == Result::kNone) noise_size_ = rest_begin_ = buffer_.size();
  return result_;
}

// The far side goes on after it as if it had said nothing.
void GreetingFinder::forget_line() {
  const auto begin = buffer_.begin();
  buffer_.erase(begin + static_cast<std::ptrdiff_t>(noise_size_),
                begin + static_cast<std::ptrdiff_t>(rest_begin_));
  scanned_ = noise_size_;
}

// A vector that grows by itself would leave the secret behind in the memory it gives back.
void GreetingFinder::append(Bytes data) {
  if (buffer_.size() + data.size() > buffer_.capacity()) {
    std::vector<std::uint8_t> larger;
    larger.reserve(2 * buffer_.size() + data.size() + kMaxLine);
    larger.assign(buffer_.begin(), buffer_.end());
    wipe(buffer_);
    buffer_.swap(larger);
  }
  buffer_.insert(buffer_.end(), data.begin(), data.end());
}

// A line that is not ours is noise, but its last newline may be the first of ours.
GreetingFinder::Result GreetingFinder::scan() {
  for (;;) {
    const std::string_view text(reinterpret_cast<const char*>(buffer_.data()), buffer_.size());
    scanned_ = std::min(text.find('\n', scanned_), text.size());
    if (scanned_ > kMaxNoiseBytes) return Result::kNone;
    if (scanned_ == text.size()) return Result::kMore;
    const auto line = line_of_ours(text.substr(scanned_));
    if (!line) return Result::kMore;
    if (!awaited_.empty() && *line == awaited_) {
      begin(line->size());
      continue;
    }
    const Result result = line->empty() ? Result::kMore : judge(*line);
    if (result != Result::kMore) return result;
    ++scanned_;
  }
}

// The start line is here.
void GreetingFinder::begin(std::size_t size) {
  awaited_.clear();
  noise_size_ = scanned_;
  rest_begin_ = scanned_ + size;
  forget_line();
}

// kMore: the line is noise.
GreetingFinder::Result GreetingFinder::judge(std::string_view line) {
  const Result result = verdict(line);
  if (result == Result::kMore) return result;
  noise_size_ = scanned_;
  rest_begin_ = scanned_ + line.size();
  if (greeting_) wipe(MutableBytes(buffer_).subspan(noise_size_, line.size()));
  return result;
}

GreetingFinder::Result GreetingFinder::verdict(std::string_view line) {
  if (may_ask(line)) {
    question_ = line.substr(kLineStart.size(), line.size() - kLineStart.size() - 1);
    return Result::kAsks;
  }
  if (!awaited_.empty()) return Result::kMore;
  if (line == plain_line()) return Result::kPlain;
  if (line == no_subsystem_line()) return Result::kNoSubsystem;
  greeting_ = parse_greeting(line);
  return greeting_ ? Result::kGreeting : Result::kMore;
}

// Who waits for our request does not know the start word yet.
bool GreetingFinder::may_ask(std::string_view line) const {
  if (!awaited_.empty()) return takes_questions_ && line == ask_line();
  return line == slow_question() || (takes_questions_ && is_question(line));
}

}  // namespace mcdtp
