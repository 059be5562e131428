#include "common/core/greeting.h"

#include <algorithm>

#include "common/core/check.h"
#include "common/core/exec_words.h"
#include "common/core/whole_number.h"

namespace mcdtp {
namespace {

constexpr std::string_view kLineStart = "\nMCDTP ";

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

bool is_greeting_address(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '.' || c == ':';
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
