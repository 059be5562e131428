#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/bytes.h"
#include "common/core/cipher.h"
#include "common/core/transport.h"
#include "common/core/types.h"

namespace mcdtp {

inline constexpr int kProtocolVersion = 5;

// The exec line's status where it asked, and its stdin ended: nobody waits, and nothing has run.
inline constexpr int kNobodyWaits = 75;

// Names and values of variables.
using Environment = std::vector<std::pair<std::string, std::string>>;

// What the client asks the login shell of the far host to run.
struct ExecRequest {
  int protocol = kProtocolVersion;
  // What start_line() says first of all: fresh for each log-in, so that nobody can have put it into what else the far side
  // prints. is_start_word(). Empty: no such line.
  std::string start_word;
  unsigned channels = 4;
  PortRange ports;
  std::optional<std::uint64_t> memory_bytes;  // unset: as much as the server takes by itself
  std::string cc = "auto";
  // How `cc` is to space what it sends. Empty: as it does.
  std::string pacing;
  Coupling coupling = Coupling::kCoupled;
  // Bytes of UDP payload in a datagram at most.
  std::size_t max_datagram = kMaxDatagram;
  Transport transport = Transport::kAuto;
  // Bits of payload a second.
  std::optional<std::uint64_t> rate_bps;
  // As that: never more.
  std::optional<std::uint64_t> max_rate_bps;
  // A path, a path from the home directory (~/...), or a name looked for as the default is. Empty: the
  // default.
  std::string server_command;
  // Where the server is to log the transfer, the small and the full log. Unset: nowhere.
  std::optional<std::string> log_path;
  std::optional<std::string> full_log_path;
  // Where there is no server of this very version, the far shell asks for one, and keeps it under this name; see
  // kInstallQuestion. Letters, digits and _ . / - alone. Empty: nothing is installed.
  std::string install_version;
  // `command` is the name of a subsystem.
  bool subsystem = false;
  // Unset: a login shell.
  std::optional<std::string> command;
  // Nothing runs but the server: `command` does not count.
  bool no_command = false;
  // The command waits until so many ports were asked for: it may use them.
  std::size_t remote_forwards = 0;
  // Only a server of ours can do what is wanted: where there is none nothing runs.
  bool needs_server = false;
  // Stand in argv for all on the far host to see, so nothing secret.
  Environment environment;
  // The server asks for more of them before it greets; see build_environment_line().
  bool asks_environment = false;
};

// A line that a server can also be told by an sshd: the kernel passes no argument of 128 KiB.
inline constexpr std::size_t kMaxExecLine = 100 * 1024;

// The exec line: the same bytes, of the same meaning, for every login shell (sh, csh and fish families). It
// runs the server or, where there is none, prints plain_line() and runs the command as sshd would have (a
// subsystem, or what needs a server: prints no_subsystem_line() and ends). Unset when it cannot be said so: longer than
// kMaxExecLine, a NUL byte, or an environment name no shell could export. Then the real ssh has to run.
std::optional<std::string> build_exec_line(const ExecRequest& request);

// The server's words out of an exec line, for a server that the far sshd forces on the client's key, and that finds
// the line in its environment. The start word is one of them, as no shell says it there. Unset: the line is none of ours.
[[nodiscard]] std::optional<std::vector<std::string>> parse_exec_line(std::string_view line);

// The same request to a server that runs as a subsystem of sshd, and so got no words: a line for its stdin, upon
// ask_line(). Unset as build_exec_line() is.
std::optional<std::string> build_request_line(const ExecRequest& request);
[[nodiscard]] std::optional<std::vector<std::string>> parse_request_line(std::string_view line);

// Whether a shell can export it; ssh sends others too, as bash's functions are.
bool is_variable_name(std::string_view name);

// Variables that must not stand in argv: a line for the server's stdin, upon environment_question(). Unset: a name is
// empty or has '=', there is a NUL byte, or the line would be longer than kMaxExecLine.
std::optional<std::string> build_environment_line(const Environment& environment);
[[nodiscard]] std::optional<Environment> parse_environment_line(std::string_view line);

// The request of the protocol: what the server says of itself first. See mcdtp-protocol(7).
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
  // What came before the line, to be shown as ssh would; with kMore and kNone all bytes fed. Valid until
  // feed().
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
