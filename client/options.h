#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/preferences.h"
#include "client/ssh_settings.h"
#include "common/core/transport.h"
#include "common/core/types.h"

namespace mcdtp {

enum class Action {
  kRun,
  kHandOver,    // exec the real ssh with words_for_hand_over
  kUsageError,  // say `message` and exit 255
  kHelp,
  kVersion,
};

enum class BackendChoice { kAuto, kLibssh2, kSsh };

// What the command line of mcdtp-shim asks for: ssh's own options, parsed as OpenSSH 9.2 parses them, and
// ours. The configuration files of ssh are not read here; what they add, only `ssh -G` tells.
struct Options {
  Action action = Action::kRun;
  std::string message;  // kUsageError: the sentence. kHandOver: what only the real ssh can do, for -v
  bool print_configuration = false;  // -G: kHandOver, where there is an ssh

  std::string host;                          // as given, without user, port and scheme; never starts with "-"
  std::optional<std::string> user;           // unset: ssh's configuration decides
  std::optional<std::uint16_t> port;         // unset too where a service's name is given: only ssh knows it
  std::optional<std::string> command;        // the words joined by one space; unset: a login shell
  bool subsystem = false;                    // -s: `command` is a subsystem's name
  bool quiet = false;                        // -q, and LogLevel ERROR and below
  int verbose = 0;                           // how many -v, 0 to 3
  bool no_command = false;                   // -N, -W, SessionType none: `command` counts for nothing
  bool no_stdin = false;                     // -n, -f
  bool background = false;                   // -f
  bool forwards = false;                     // -L, -R or -D, or as -o lines; ssh says what they come to
  std::optional<std::string> stdio_forward;  // -W: where stdin and stdout go
  AddressFamily address_family = AddressFamily::kAny;
  // Where stdin is a terminal this run needs one on the far side (no command, no -T): then hand over.
  bool terminal_if_stdin_is_one = false;

  unsigned channels = 4;            // -c N, 1 to 64; of --transport ssh 1, unless given
  PortRange ports;                  // --port-range; 1 <= low <= high
  std::string congestion = "auto";  // --cc, one of kCongestionNames
  std::string pacing;               // --pacing, even or burst, only with "fixed"; empty: not given
  std::optional<std::uint64_t> rate_bits_per_second;      // set exactly with "fixed"; 1,000 to 10^12
  std::optional<std::uint64_t> max_rate_bits_per_second;  // --max-rate, 1,000 to 10^12
  Coupling coupling = Coupling::kCoupled;
  std::size_t max_datagram = kMaxDatagram;    // --mtu, bytes of UDP payload, from kMinDatagram on
  Transport transport = Transport::kAuto;     // --transport
  std::optional<std::uint64_t> memory_bytes;  // 8 MiB to 1 TiB; unset: default_memory() of each end
  BackendChoice backend = BackendChoice::kAuto;
  std::optional<std::string> log_path;       // --log
  std::optional<std::string> full_log_path;  // --log-full
  // The same on the far host, where they do not begin with "-".
  std::optional<std::string> far_log_path;       // --far-log
  std::optional<std::string> far_full_log_path;  // --far-log-full
  std::optional<std::string> server_path;        // --server; unset: found by the far host's shell
  bool install = false;  // --install: bring a server to a far host that has none of this version
  std::optional<std::string> server_subsystem;  // --server-subsystem: the far sshd starts the server
  std::optional<std::string> message_log_path;  // -E
  std::vector<std::string> identity_files;      // -i, as given

  // --relay: an ssh of ours goes this way to a host behind this one, which it can as well without us: nothing is asked of
  // the user here, and nothing said but with -v.
  bool relay = false;

  // The user has said that the host is for us, also one that is known to serve git alone.
  bool shim_wanted = false;

  // ssh's options for the bootstrap ssh, in order and as given, user and port of the destination in its place
  // as -l and -p; without host and command, without ours, and without what would take the bootstrap's stdin.
  std::vector<std::string> ssh_words;
  // The whole command line without our own options; argv[0] is not among them.
  std::vector<std::string> words_for_hand_over;
};

// Parses the command line without argv[0]; what it leaves open, the preferences decide. Pure: it asks neither files nor
// the environment nor the terminal.
Options parse_options(std::span<const std::string> words, const Preferences& preferences = {});

// What --help prints.
std::string help_text();

}  // namespace mcdtp
