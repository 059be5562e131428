#include "client/options.h"

#include <algorithm>

#include "client/git_hosts.h"
#include "client/own_options.h"

namespace mcdtp {
namespace {

constexpr int kLogError = 2;
constexpr int kLogInfo = 3;
constexpr int kLogVerbose = 4;

// Walks the command line as ssh's main() does: options, destination, options again unless "--" came, command.
class Parser {
 public:
  Parser(std::span<const std::string> words, const Preferences& preferences)
      : arguments_(words, own_option_rule), preferences_(preferences) {}

  Options parse();

 private:
  bool decided() const { return options_.action != Action::kRun; }
  void refuse(std::string sentence);
  void read_options();
  void read_option(const SshOption& option);
  void read_own(const SshOption& option);
  void read_destination();
  void note_destination(const Destination& to);
  void read_command();
  void finish();
  void refuse_leading_dash(const std::string& what, const std::string& name);
  void judge();
  void prefer();
  void apply_own(const std::vector<PlacedOption>& options);
  void hand_over(std::string reason);

  SshArguments arguments_;
  const Preferences& preferences_;
  SshSettings settings_;
  Options options_;
  KeptWords for_bootstrap_;
  KeptWords for_hand_over_;
  bool has_destination_ = false;
  std::vector<SshOption> own_;  // as given on the command line
};

Options Parser::parse() {
  read_options();
  if (!decided() && !arguments_.at_end()) read_destination();
  if (!decided()) read_command();
  if (!decided()) finish();
  return std::move(options_);
}

void Parser::refuse(std::string sentence) {
  options_.action = Action::kUsageError;
  options_.message = std::move(sentence);
}

void Parser::read_options() {
  while (!decided()) {
    const auto option = arguments_.next_option();
    if (!option) break;
    read_option(*option);
  }
  if (!decided() && !arguments_.at_end() && arguments_.word() == "--") {
    for_hand_over_.keep(arguments_.take_word());
  }
}

void Parser::read_option(const SshOption& option) {
  if (option.letter == 0 || is_channel_count(option)) return read_own(option);
  for_hand_over_.keep(option);
  if (apply_ssh_option(option, settings_)) for_bootstrap_.keep(option);
  if (option.letter == 'E') options_.message_log_path = option.value;
  if (option.letter == 'i' && option.value) options_.identity_files.push_back(*option.value);
}

void Parser::read_own(const SshOption& option) {
  own_.push_back(option);
  if (auto complaint = apply_own_option(option, options_)) refuse(std::move(*complaint));
}

void Parser::read_destination() {
  const bool options_may_follow = !arguments_.after_terminator();
  const std::string& word = arguments_.take_word();
  for_hand_over_.keep(word);
  has_destination_ = true;
  if (const auto to = parse_destination(word)) {
    note_destination(*to);
  } else if (settings_.only_ssh.empty()) {
    settings_.only_ssh = "the destination " + word;
  }
  if (options_may_follow) read_options();
}

// User and port of the destination yield to what came before, and go before what comes.
void Parser::note_destination(const Destination& to) {
  options_.host = to.host;
  if (to.user) {
    for_bootstrap_.keep("-l");
    for_bootstrap_.keep(*to.user);
    if (!settings_.user) settings_.user = to.user;
  }
  if (to.port) {
    for_bootstrap_.keep("-p");
    for_bootstrap_.keep(std::to_string(*to.port));
    if (!settings_.port) settings_.port = std::to_string(*to.port);
  }
  if (to.host.empty()) refuse("no host in the destination");
}

// ssh takes a command of no bytes for none.
void Parser::read_command() {
  std::string command;
  while (!arguments_.at_end()) {
    const std::string& word = arguments_.take_word();
    for_hand_over_.keep(word);
    if (!command.empty() || options_.command) command += ' ';
    command += word;
    options_.command = "";
  }
  options_.command = command.empty() ? std::nullopt : std::optional(std::move(command));
}

void Parser::finish() {
  options_.ssh_words = for_bootstrap_.words();
  options_.words_for_hand_over = for_hand_over_.words();
  options_.user = settings_.user;
  options_.port = settings_.port ? parse_port(*settings_.port) : std::nullopt;
  options_.subsystem = settings_.session_type == SessionType::kSubsystem;
  options_.no_command = settings_.session_type == SessionType::kNone;
  options_.no_stdin = settings_.stdin_null.value_or(false);
  options_.background = settings_.fork_after_authentication.value_or(false);
  options_.forwards = settings_.forwards && settings_.clear_all_forwardings != true;
  options_.stdio_forward = settings_.stdio_forward;
  options_.address_family = settings_.address_family.value_or(AddressFamily::kAny);
  const int level = settings_.log_level.value_or(kLogInfo);
  options_.quiet = level <= kLogError;
  options_.verbose = std::max(0, level - kLogVerbose);
  options_.terminal_if_stdin_is_one = !options_.command && !options_.no_command && !options_.no_stdin &&
                                      settings_.request_tty != RequestTty::kNo;
  if (options_.relay && options_.verbose == 0) options_.quiet = true;
  judge();
}

void Parser::refuse_leading_dash(const std::string& what, const std::string& name) {
  if (name.starts_with('-')) refuse("the " + what + " " + name + " starts with a dash");
}

void Parser::hand_over(std::string reason) {
  options_.action = Action::kHandOver;
  options_.message = std::move(reason);
}

void Parser::judge() {
  refuse_leading_dash("host", options_.host);
  refuse_leading_dash("user", options_.user.value_or(""));
  if (decided()) return;
  options_.print_configuration = settings_.print_configuration;
  auto reason = reason_for_real_ssh(settings_);
  if (!reason && options_.subsystem && !options_.command) reason = "-s without a subsystem";
  if (!reason && options_.background && !options_.command && !options_.no_command)
    reason = "-f without a command";
  if (options_.relay && !options_.stdio_forward) return refuse("--relay is for -W alone");
  if (!reason && !has_destination_) return refuse("no host given (mcdtp-shim --help says how)");
  reason ? hand_over(std::move(*reason)) : prefer();
}

// What the real ssh does at all events is none of the preferences' affair, nor is it stopped by a mistake in them.
void Parser::prefer() {
  HostPreferences found;
  if (auto complaint = find_preferences(preferences_, options_.host, found))
    return refuse(std::move(*complaint));
  options_.shim_wanted = found.shim == true;
  if (found.shim == false) return hand_over("the shim is switched off for it");
  if (!options_.shim_wanted && serves_git_alone(options_.host)) return hand_over("it serves git alone");
  apply_own(merge_options(found, own_));
}

// Each has been judged by itself already.
void Parser::apply_own(const std::vector<PlacedOption>& options) {
  std::string place;
  bool congestion_given = false;
  bool channels_given = false;
  for (const auto& [option, where] : options) {
    if (auto complaint = apply_own_option(option, options_)) return refuse(where + ": " + *complaint);
    congestion_given = congestion_given || option.name == "cc";
    channels_given = channels_given || option.letter == 'c';
    if (option.name == "cc" || option.name == "rate" || option.name == "pacing") place = where;
  }
  if (!place.empty()) place += ": ";
  if (auto complaint = check_own_options(options_, congestion_given, channels_given))
    refuse(place + *complaint);
}

}  // namespace

Options parse_options(std::span<const std::string> words, const Preferences& preferences) {
  return Parser(words, preferences).parse();
}

std::string help_text() {
  return R"(Usage: mcdtp-shim [options] [user@]host [command]

Logs in with ssh and carries the command's input and output, and forwarded ports (-L, -R,
-D, -W), over several UDP channels.
Takes the options of ssh, and these:
  -c N                   number of channels, 1 to 64 (default 4); not a number: ssh's cipher
  --port-range LOW-HIGH  the server's ports (default 60000-61000)
  --cc NAME              congestion control: auto, fixed, daimd, none or cubic (default auto)
  --coupling coupled|none
                         one congestion control for all channels (default), or
                         one each
  --rate RATE            bit/s for --cc fixed, which it implies: 80M, 1.5G, 500k
  --max-rate RATE        never more than that, bit/s, whatever --cc finds
  --pacing even|burst    of --cc fixed: small equal gaps, or all of 50 ms at once
  --transport WAY        what carries the data: auto (UDP, else as many TCP connections
                         as channels, else SSH; default), tcp (no UDP), ssh (SSH alone;
                         with -c over so many SSH connections)
  --mtu BYTES            largest datagram, 1200 to 65507 bytes of UDP payload
                         (default: what the path carries)
  --memory SIZE          most memory for data under way, from 8M on (default: a 16th of the
                         host's, 64M to 4G)
  --bootstrap WAY        how to log in: auto, libssh2 or ssh (default auto)
  --server PATH          mcdtp-server on the far host (default: found by its shell)
  --install[=no]         bring our own static mcdtp-server to a far host that has
                         none of this version, into ~/.cache/mcdtp there
  --server-subsystem NAME
                         the far sshd starts mcdtp-server, as a subsystem of this name
  --relay                with -W: what the shim gives itself for a jump host (-J)
  --log FILE             appends a line on each transfer
  --log-full FILE        appends the course of each transfer, ten times a second, as CSV
  --far-log FILE, --far-log-full FILE
                         the same, of what the far host sends, into a file there
  --help, --version      print this, or the version

They may also stand in ~/.config/mcdtp/config, as "Host pattern" and lines such as
"Channels 8", and in MCDTP_OPTIONS. "Shim off" there, or MCDTP=off, leaves all to ssh.

Exit status: the command's own; 255 where mcdtp-shim or ssh failed.
)";
}

}  // namespace mcdtp
