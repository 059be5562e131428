#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/core/credit.h"
#include "common/core/exec_line.h"
#include "common/core/greeting.h"
#include "common/core/transport.h"
#include "common/core/types.h"
#include "common/io/host_memory.h"
#include "server/policy.h"

namespace mcdtp {

// What the client's exec line, or somebody by hand, asks of mcdtp-server: ExecRequest as it arrives.
struct ServerOptions {
  // The client's. Where it is not kProtocolVersion, only `start_word`, `subsystem`, `no_plain`, `command` and
  // `environment` were read: what is needed to run the command without us.
  int protocol = kProtocolVersion;
  // Of start_line(), where no shell has said it. Empty: nothing is to be said.
  std::string start_word;
  // Wished datagram channels, 1 to kMaxDatagramChannels. The exchange may settle on fewer.
  unsigned channels = 4;
  // Both ends from 1; low <= high.
  PortRange ports;
  // What the session holds at most, to be sent and to be read together, from kMinMemory on.
  std::uint64_t memory_bytes = default_memory();
  // A name of a congestion control: not judged here. "fixed" comes with a rate.
  std::string cc = "auto";
  // What find_pacing() knows; "even" and "burst" come with "fixed".
  std::string pacing;
  Coupling coupling = Coupling::kCoupled;
  // Bytes of UDP payload in a datagram at most, kMinDatagram to kMaxDatagram.
  std::size_t max_datagram = kMaxDatagram;
  Transport transport = Transport::kAuto;
  // Bits of payload a second, at least 1.
  std::optional<std::uint64_t> rate_bps;
  // `command` is the name of a subsystem, and set.
  bool subsystem = false;
  // More of `environment` comes on stdin.
  bool asks_environment = false;
  // Nothing runs but ourselves; `command` is unset.
  bool no_command = false;
  // Where the client speaks another version nothing runs at all.
  bool no_plain = false;
  // The command begins when the client has asked for so many ports.
  std::size_t remote_forwards = 0;
  // --no-forwards: none.
  Policy policy;
  // By UDP packets come from the host of the log-in, and go there, and nowhere else. Never the client's.
  bool login_host_alone = false;
  // Any bytes but NUL, empty too. Unset: a login shell.
  std::optional<std::string> command;
  // Names as a shell can export them.
  std::vector<std::pair<std::string, std::string>> environment;
  // Bits of payload a second that the server sends at most, whatever way they go, at least 1.
  std::optional<std::uint64_t> max_rate_bps;
  // Files to log the session in, the small and the full log.
  std::optional<std::string> log_path;
  std::optional<std::string> full_log_path;
  // --help or --version: this is to be printed on stdout, and nothing else to be done.
  std::optional<std::string> print;
};

// Throws std::runtime_error, one sentence, for what stands in no help text or out of its range.
// `words`: without the program's name.
ServerOptions parse_server_words(std::vector<std::string> words);

// LOW-HIGH, both from 1 on; unset for anything else.
std::optional<PortRange> parse_port_range(const std::string& text);

}  // namespace mcdtp
