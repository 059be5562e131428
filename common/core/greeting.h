#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/bytes.h"
#include "common/core/cipher.h"
#include "common/core/types.h"

namespace mcdtp {

inline constexpr int kProtocolVersion = 5;

// What the server says of itself first. See mcdtp-protocol(7).
struct Greeting {
  Greeting() = default;
  Greeting(const Greeting&) = default;
  Greeting& operator=(const Greeting&) = default;
  ~Greeting() { wipe(secret); }
  bool operator==(const Greeting&) const = default;

  int version = kProtocolVersion;
  // Fresh in every session: all keys come from it.
  std::array<std::uint8_t, 32> secret{};
  // One a datagram channel, in their order, distinct; at most kMaxDatagramChannels.
  std::vector<std::uint16_t> udp_ports;
  // Unset: the server does not listen.
  std::optional<std::uint16_t> tcp_port;
  // The numeric address that the log-in came to. Empty: not known, so no UDP.
  std::string address;
  Cipher cipher = Cipher::kAes128Gcm;
};

// Whether a greeting can carry `text` as its address: the characters of a numeric one, with no scope.
bool is_greeting_address(std::string_view text);

// One line, with a newline before and after. It holds the secret: the caller wipes it.
// REQUIRES: the bounds of Greeting; the address is empty or is_greeting_address().
std::string format_greeting(const Greeting& greeting);
// Takes exactly what format_greeting() gives, and nothing else.
[[nodiscard]] std::optional<Greeting> parse_greeting(std::string_view line);

// Letters, digits and _ . / - alone, 64 at most.
bool is_start_word(std::string_view word);
// Before all other lines, but for ask_line(): what follows is said by who got our request. What came before it is of
// others, whatever it looks like. REQUIRES: is_start_word(word).
std::string start_line(std::string_view word);
// No server: the command runs as under ssh, and its output follows.
constexpr std::string_view plain_line() { return "\nMCDTP plain\n"; }
// No server to run the subsystem, or to do what needs one: nothing follows.
constexpr std::string_view no_subsystem_line() { return "\nMCDTP nosubsystem\n"; }
// Questions, each a line as the greeting is. A subsystem's server waits for its request line.
constexpr std::string_view ask_line() { return "\nMCDTP ask\n"; }
// A server that was told so waits for the environment line.
constexpr std::string_view environment_question() { return "\nMCDTP env\n"; }
// The login shell took long, and what is to run waits for a line of any kind; at the end of stdin it never runs.
constexpr std::string_view slow_question() { return "\nMCDTP slow\n"; }
// The start of: there is no server, and one may be sent to this machine, as `uname -m` names it. The answer is "send
// SIZE SHA256", a newline and that many bytes; or "none" and a newline.
constexpr std::string_view kInstallQuestion = "install ";

// What a server of this version prints for --version.
inline std::string server_version() {
  return "mcdtp-server " MCDTP_VERSION " protocol " + std::to_string(kProtocolVersion);
}

// Finds the server's first line in what a login shell's start-up files print before it.
// Invariants: noise, line and rest together are the bytes fed, in order; how they were split never matters.
class GreetingFinder {
 public:
  enum class Result {
    kMore,         // not seen yet
    kGreeting,     // greeting() is set
    kPlain,        // no server, the command runs
    kNoSubsystem,  // no server that can do it, nothing runs
    kAsks,  // question() waits for its answer; but for the slow one only where take_questions() was called
    kNone,  // too much of something else: there will be no greeting
  };
  // More than an SSH channel holds on its way (2 MiB): the command may have begun behind so much noise, and who gave up
  // then and started it anew would run it twice.
  static constexpr std::size_t kMaxNoiseBytes = 4 << 20;
  // With both newlines. Longer than any greeting; a longer line is noise.
  static constexpr std::size_t kMaxLine = 1024;

  GreetingFinder() = default;
  GreetingFinder(const GreetingFinder&) = delete;
  GreetingFinder& operator=(const GreetingFinder&) = delete;
  ~GreetingFinder() { wipe(buffer_); }

  // What was asked for may ask back. REQUIRES: nothing was fed.
  void take_questions() { takes_questions_ = true; }
  // All is noise until start_line() has come, but for ask_line(). REQUIRES: nothing was fed; is_start_word(word).
  void await_start(std::string_view word) { awaited_ = start_line(word); }

  // REQUIRES: every earlier result was kMore or kAsks.
  Result feed(Bytes data);
  // The far side's last question, without "MCDTP " and newlines; empty: none.
  const std::string& question() const { return question_; }
  // The start line has come, or nobody waits for it.
  bool has_begun() const { return awaited_.empty(); }

  // Unset unless the result was kGreeting.
  const std::optional<Greeting>& greeting() const { return greeting_; }
  // What came before the line; with kMore and kNone all bytes fed. Valid until feed().
  Bytes noise() const { return Bytes(buffer_).first(noise_size_); }
  // What came after the line: the stream's first bytes. Valid until feed().
  Bytes rest() const { return Bytes(buffer_).subspan(rest_begin_); }

 private:
  void append(Bytes data);
  void forget_line();
  Result scan();
  void begin(std::size_t size);
  Result judge(std::string_view line);
  Result verdict(std::string_view line);
  bool may_ask(std::string_view line) const;

  std::vector<std::uint8_t> buffer_;
  // No line begins before it.
  std::size_t scanned_ = 0;
  std::size_t noise_size_ = 0;
  std::size_t rest_begin_ = 0;
  Result result_ = Result::kMore;
  std::optional<Greeting> greeting_;
  bool takes_questions_ = false;
  std::string awaited_;  // the start line; empty: it has come, or nobody waits for one
  std::string question_;
};

}  // namespace mcdtp
