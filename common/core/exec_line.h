#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/greeting.h"
#include "common/core/transport.h"
#include "common/core/types.h"

namespace mcdtp {

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

}  // namespace mcdtp
