#include "common/core/greeting.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "common/core/check.h"

namespace mcdtp {
namespace {

constexpr std::string_view kLineStart = "\nMCDTP ";
// Looked in after PATH: a login's PATH may lack them.
constexpr std::string_view kServerPlaces =
    "$HOME/.local/bin:$HOME/bin:/usr/local/bin:/usr/bin:/opt/mcdtp/bin";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Not std::isalnum, which asks the locale.
bool is_plain_byte(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '/' || c == '-';
}

bool is_variable_name(std::string_view name) {
  const auto fits = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  return !name.empty() && !is_digit(name[0]) && std::all_of(name.begin(), name.end(), fits);
}

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
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain_byte)) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

// Prints where the server is, or nothing.
std::string server_lookup(std::string_view server) {
  if (server.empty()) return "command -v mcdtp-server";
  if (std::all_of(server.begin(), server.end(), is_plain_byte)) return "command -v " + std::string(server);
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
  add("--memory", std::to_string(r.memory_bytes));
  add("--cc", r.cc);
  if (!r.pacing.empty()) add("--pacing", r.pacing);
  if (r.coupling == Coupling::kNone) add("--coupling", "none");
  if (r.max_datagram != kMaxDatagram) add("--mtu", std::to_string(r.max_datagram));
  if (r.rate_bps) add("--rate", std::to_string(*r.rate_bps));
  if (r.subsystem) words.emplace_back("--subsystem");
  if (r.no_command) words.emplace_back("--no-command");
  if (r.remote_forwards > 0) add("--remote-forwards", std::to_string(r.remote_forwards));
  if (r.needs_server) words.emplace_back("--no-plain");
  return words;
}

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + octal(word);
  return out;
}

bool can_be_said(const ExecRequest& r) {
  const auto fits = [](std::string_view s) { return s.size() < kMaxExecLine && s.find('\0') == s.npos; };
  for (const auto& [name, value] : r.environment)
    if (!is_variable_name(name) || !fits(value)) return false;
  return fits(r.cc) && fits(r.pacing) && fits(r.server_command) && fits(r.command.value_or(""));
}

// The server's arguments as shell words, made printable.
std::string encoded_words(const ExecRequest& r, const std::vector<std::string>& options) {
  std::vector<std::string> words;
  for (const std::string& option : options) words.push_back(quote(option));
  for (const auto& [name, value] : r.environment) {
    words.emplace_back("--env");
    words.push_back(quote(name + "=" + value));
  }
  if (r.command && !r.no_command) {
    words.emplace_back("--");
    words.push_back(quote(*r.command));
  }
  return join(words);
}

// What the script does when no server was found. $1 is the first word after the fixed options.
std::string without_server(const ExecRequest& r) {
  if (r.subsystem || r.needs_server) return R"sh(printf "\nMCDTP nosubsystem\n")sh";
  std::string script;
  if (!r.environment.empty()) script += R"sh(while [ "$1" = --env ]; do export "$2"; shift 2; done; )sh";
  script += R"sh(printf "\nMCDTP plain\n"; exec "${SHELL:-/bin/sh}" )sh";
  return script + (r.command ? R"sh(-c "$2")sh" : "-l");
}

enum class Found { kNo, kYes, kMaybe };

// Whether the line that we wait for begins at `text`; kMaybe as long as more bytes could make it so.
Found line_start(std::string_view text) {
  const std::size_t size = std::min(text.size(), kLineStart.size());
  if (text.substr(0, size) != kLineStart.substr(0, size)) return Found::kNo;
  return size < kLineStart.size() ? Found::kMaybe : Found::kYes;
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
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || text[0] == '0') return std::nullopt;
  return port;
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

// The words come out of one eval, so that the trailing newlines of a value survive the $(...); they live in
// the positional parameters, because assigning to a variable changes it for the command where it was
// exported. No single quote, exclamation mark, newline, or two backslashes in a row: csh and fish would read
// those.
std::optional<std::string> build_exec_line(const ExecRequest& r) {
  if (!can_be_said(r)) return std::nullopt;
  const std::vector<std::string> options = fixed_options(r);
  std::string line =
      R"sh(exec sh -c 'eval "set -- $(printf %b ")sh" + encoded_words(r, options) + R"sh(")"; )sh";
  line += R"sh(set -- "$(PATH=${PATH:+$PATH:})sh" + std::string(kServerPlaces) + "; ";
  line += server_lookup(r.server_command) + R"sh()" "$@"; )sh";
  line += R"sh(if [ -f "$1" ] && [ -x "$1" ]; then exec "$@"; fi; )sh";
  line += "shift " + std::to_string(options.size() + 1) + "; " + without_server(r) + "'";
  if (line.size() > kMaxExecLine) return std::nullopt;
  return line;
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

GreetingFinder::Result GreetingFinder::feed(Bytes data) {
  CHECK(result_ == Result::kMore);
  append(data);
  result_ = scan();
  if (result_ == Result::kMore || result_ == Result::kNone) noise_size_ = rest_begin_ = buffer_.size();
  return result_;
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
  const std::string_view text(reinterpret_cast<const char*>(buffer_.data()), buffer_.size());
  for (;;) {
    scanned_ = std::min(text.find('\n', scanned_), text.size());
    if (scanned_ > kMaxNoiseBytes || lines_ > kMaxNoiseLines) return Result::kNone;
    if (scanned_ == text.size()) return Result::kMore;
    const Found found = line_start(text.substr(scanned_));
    if (found == Found::kMaybe) return Result::kMore;
    if (found == Found::kYes) {
      const std::size_t end = text.substr(0, scanned_ + kMaxLine).find('\n', scanned_ + 1);
      if (end == text.npos && text.size() < scanned_ + kMaxLine) return Result::kMore;
      const Result result =
          end == text.npos ? Result::kMore : judge(text.substr(scanned_, end + 1 - scanned_));
      if (result != Result::kMore) return result;
    }
    ++scanned_;
    ++lines_;
  }
}

// kMore: the line is noise.
GreetingFinder::Result GreetingFinder::judge(std::string_view line) {
  Result result = Result::kMore;
  if (line == plain_line()) result = Result::kPlain;
  if (line == no_subsystem_line()) result = Result::kNoSubsystem;
  if ((greeting_ = parse_greeting(line))) result = Result::kGreeting;
  if (result == Result::kMore) return result;
  noise_size_ = scanned_;
  rest_begin_ = scanned_ + line.size();
  if (greeting_) wipe(MutableBytes(buffer_).subspan(noise_size_, line.size()));
  return result;
}

}  // namespace mcdtp
