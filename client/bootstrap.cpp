#include "client/bootstrap.h"

#include <fnmatch.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include "client/jump_relay.h"
#include "client/libssh2_process.h"
#include "client/login_watch.h"
#include "client/read_once.h"
#include "client/say.h"
#include "client/ssh_exec.h"
#include "common/io/home_path.h"
#include "common/io/owned_fd.h"
#include "common/io/system.h"

namespace mcdtp {
namespace {

// The values that ride on the exec line: LANG, LC_* and git's, where ssh would send them. Others may be secret, or no
// shell's to export.
bool is_for_all_to_see(const std::string& name) {
  return name == "LANG" || name == "GIT_PROTOCOL" || (name.starts_with("LC_") && is_variable_name(name));
}

bool is_sent(const std::string& name, const SshConfig& config) {
  const auto patterns = config.lines("sendenv");
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

// sshd sets these itself, whatever it accepts.
bool is_the_far_sides(const std::string& name) {
  constexpr std::array<std::string_view, 12> kNames = {"HOME",
                                                       "LOGNAME",
                                                       "MAIL",
                                                       "PATH",
                                                       "SHELL",
                                                       "SSH_AUTH_SOCK",
                                                       "SSH_CLIENT",
                                                       "SSH_CONNECTION",
                                                       "SSH_TTY",
                                                       "SSH_USER_AUTH",
                                                       "SSH_ORIGINAL_COMMAND",
                                                       "USER"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

Environment own_environment() {
  Environment all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) all.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::erase_if(all, [](const auto& variable) { return is_the_far_sides(variable.first); });
  return all;
}

// What SetEnv names, and what else SendEnv does; SetEnv wins, so it comes last.
Environment hidden_environment(const SshConfig& config) {
  Environment hidden;
  for (auto& variable : own_environment()) {
    if (!is_for_all_to_see(variable.first) && is_sent(variable.first, config)) hidden.push_back(variable);
  }
  for (const std::string& line : config.lines("setenv")) {
    const auto equals = line.find('=');
    if (equals == std::string::npos || is_the_far_sides(line.substr(0, equals))) continue;
    hidden.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return hidden;
}

std::string fresh_word() {
  std::array<std::uint8_t, 16> bytes;
  random_bytes(bytes);
  return to_hex(bytes);
}

Duration connect_timeout(const std::optional<SshConfig>& config) {
  return seconds(config ? config->connect_timeout().value_or(0) : 0);
}

// What the configuration says of stdin and of the background we do ourselves. An ssh that does not print a keyword does not
// know it.
std::vector<std::string> attached_words(const SshConfig& config) {
  std::vector<std::string> words;
  if (!config.text("stdinnull").empty()) words.push_back("-oStdinNull=no");
  if (!config.text("forkafterauthentication").empty()) words.push_back("-oForkAfterAuthentication=no");
  return words;
}

// Likewise of a command: this ssh has to run the server, and to keep it.
std::vector<std::string> plain_session_words(const Options& options, const SshConfig& config) {
  std::vector<std::string> words = attached_words(config);
  const bool has_kind = options.server_subsystem.has_value();  // by -s
  if (!has_kind && !config.text("sessiontype").empty()) words.push_back("-oSessionType=default");
  return words;
}

// Debian's ssh has BatchMode ask for a word from time to time.
std::string server_alive_word(const SshConfig& config) {
  return "-oServerAliveInterval=" + std::to_string(config.server_alive_interval());
}

// No question, no key of a host of which there is something to say, and no more word from time to time than without.
std::vector<std::string> relay_words(const SshConfig& config) {
  return {"-oBatchMode=yes", "-oStrictHostKeyChecking=yes", server_alive_word(config)};
}

// A master that would end with this ssh must not become of it: others would lose their connection with ours. `first`: before
// all others.
std::vector<std::string> bootstrap_words(const Options& options, const std::optional<SshConfig>& config,
                                         const std::string& exec_line,
                                         const std::vector<std::string>& first) {
  std::vector<std::string> words = bootstrap_argv(options, exec_line);
  const auto put_first = [&words](const std::vector<std::string>& more) {
    words.insert(words.begin() + 1, more.begin(), more.end());
  };
  if (!config || !config->makes_master()) put_first({"-oControlMaster=no"});
  if (config) {
    put_first(plain_session_words(options, *config));
    if (options.relay) put_first(relay_words(*config));
  }
  put_first(first);
  return words;
}

// A connection of its own, that is there for -W alone, asks for nothing, and without -v says nothing, not into -E's file either.
// None where a key is to be touched for it.
std::vector<std::string> further_words(const Options& options, const std::optional<SshConfig>& config) {
  if (config && has_key_to_touch(*config)) return {};
  std::vector<std::string> words = {"ssh",
                                    "-T",
                                    "-oBatchMode=yes",
                                    "-oPermitLocalCommand=no",
                                    "-oRemoteCommand=none",
                                    "-oForwardAgent=no",
                                    "-oForwardX11=no",
                                    "-oTunnel=no",
                                    "-oClearAllForwardings=yes"};
  const auto add = [&words](const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (options.verbose == 0) add({"-oLogLevel=QUIET"});
  if (config) add(attached_words(*config));
  if (config) add({server_alive_word(*config)});
  add(options.ssh_words);
  // Of this one the last counts, and before any ControlPath.
  add({"-Snone"});
  return words;
}

// The files that the ssh that logs in would read, but for its configuration.
std::optional<std::string> file_read_once(const SshConfig& config) {
  std::vector<std::string> files;
  const auto add = [&files](const std::vector<std::string>& more) {
    files.insert(files.end(), more.begin(), more.end());
  };
  for (const char* keyword : {"identityfile", "certificatefile"}) add(config.lines(keyword));
  for (const char* keyword : {"userknownhostsfile", "globalknownhostsfile", "revokedhostkeys"})
    add(config.words(keyword));
  const auto found = std::find_if(files.begin(), files.end(), is_read_once);
  return found == files.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

ExecRequest exec_request(const Options& options, const std::optional<SshConfig>& config) {
  ExecRequest request;
  request.channels = options.channels;
  request.ports = options.ports;
  request.memory_bytes = options.memory_bytes;
  request.cc = options.congestion;
  request.pacing = options.pacing;
  request.coupling = options.coupling;
  request.max_datagram = options.max_datagram;
  request.transport = options.transport;
  request.rate_bps = options.rate_bits_per_second;
  request.max_rate_bps = options.max_rate_bits_per_second;
  request.log_path = options.far_log_path;
  request.full_log_path = options.far_full_log_path;
  request.server_command = options.server_path.value_or("");
  request.subsystem = options.subsystem;
  request.command = options.command;
  request.no_command = options.no_command;
  for (auto& variable : own_environment()) {
    const bool sent = !config || is_sent(variable.first, *config);
    if (is_for_all_to_see(variable.first) && sent) request.environment.push_back(std::move(variable));
  }
  return request;
}

std::optional<Opening> build_opening(const Options& options, const std::optional<SshConfig>& config,
                                     ExecRequest request) {
  request.start_word = fresh_word();
  const Environment hidden = config ? hidden_environment(*config) : Environment();
  request.asks_environment = !hidden.empty();
  auto environment_line = build_environment_line(hidden);
  auto offer = options.install ? find_install_offer(install_folders()) : std::nullopt;
  if (offer) request.install_version = offer->version;
  if (options.install && !offer && !options.quiet)
    say("there is nothing to install: no mcdtp-server.MACHINE (scripts/build --static makes one)");
  auto exec_line = build_exec_line(request);
  auto request_line = build_request_line(request);
  if (!exec_line || !request_line || !environment_line) return std::nullopt;
  Opening opening{request.start_word, std::move(*exec_line), std::move(*request_line), "", std::move(offer)};
  if (!hidden.empty()) opening.environment_line = std::move(*environment_line);
  return opening;
}

std::optional<std::string> only_for_ssh(const SshConfig& config) {
  if (config.text("requesttty") == "true" || config.text("requesttty") == "force")
    return "it wants a terminal";
  if (config.is_on("tunnel")) return "it wants a tunnel";
  const std::string kind = config.text("sessiontype");
  if (kind == "subsystem") return "its SessionType is " + kind;
  if (config.is_given("remotecommand")) return "it sets remotecommand";
  if (const auto file = file_read_once(config)) return *file + " is no plain file";
  // It has ssh's own stdin and stdout, which would be those that our packets go by.
  if (config.is_on("permitlocalcommand") && config.is_given("localcommand")) return "it sets localcommand";
  return std::nullopt;
}

bool has_key_to_touch(const SshConfig& config) {
  const char* home = std::getenv("HOME");
  const auto files = config.lines("identityfile");
  return std::any_of(files.begin(), files.end(), [home](const std::string& file) {
    const std::string path = in_home(file, home != nullptr ? home : "");
    return path.ends_with("_sk") && access(path.c_str(), F_OK) == 0;
  });
}

void apply_configuration(Options& options, const SshConfig& config) {
  // -s wins over the configuration, which does not see it.
  options.no_command = options.no_command || (!options.subsystem && config.text("sessiontype") == "none");
  options.background = options.background || config.is_on("forkafterauthentication");
  options.no_stdin = options.no_stdin || options.background || config.is_on("stdinnull");
  options.quiet = options.quiet || config.log_level() < LogLevel::kInfo;
}

namespace {

// Of an attempt nothing is to be heard.
ChildStderr stderr_of(const Options& options) {
  return options.relay && options.verbose == 0 ? ChildStderr::kNone : ChildStderr::kOurs;
}

// Sets the process and, where libssh2 has logged in, what it found out. False, and no process: the real ssh has to do it.
bool log_in_by_libssh2(Login& login, const Options& options, const Libssh2Plan& plan,
                       const std::string& exec_line, LoginWatch& watch) {
  auto process = std::make_unique<Libssh2Process>(plan, exec_line, options.quiet, stderr_of(options));
  const Libssh2Process::Login& outcome = process->login();
  if (outcome.unreachable) {
    login.ssh = std::move(process);
    return true;
  }
  if (!outcome.authenticated) {
    if (options.verbose > 0) say("not by libssh2: " + outcome.text);
    return false;
  }
  if (options.verbose > 0) say("backend: libssh2");
  watch.logged_in();
  login.peer_address = outcome.text;
  login.ssh = std::move(process);
  return true;
}

// A master listens on its socket; what merely stands there may be left from one that is gone.
bool answers(const std::string& control_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (control_path.empty() || control_path.size() >= sizeof address.sun_path) return false;
  control_path.copy(address.sun_path, control_path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const OwnedFd owner(fd);
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

void start_log_in(Login& login, const Options& options, const Libssh2Choice& choice,
                  const std::string& exec_line, LoginWatch& watch) {
  if (choice.plan && log_in_by_libssh2(login, options, *choice.plan, exec_line, watch)) return;
  if (options.backend == BackendChoice::kLibssh2) {
    throw std::runtime_error("log in by libssh2: " + (choice.plan ? "it could not, see -v" : choice.why_not));
  }
  if (options.verbose > 0 && !choice.plan && !choice.why_not.empty())
    say("not by libssh2: " + choice.why_not);
  if (options.verbose > 0) say("backend: ssh");
  // ssh behind a master is logged in already, and runs no LocalCommand that would say so.
  const bool has_master = choice.config && answers(choice.config->text("controlpath"));
  if (has_master) watch.logged_in();
  // What comes of this ssh as a master is for others as well, and is to be found by them.
  const bool is_own = choice.config && !has_master && !choice.config->makes_master();
  const auto relayed = is_own ? over_relay(options, *choice.config) : std::nullopt;
  if (relayed && options.verbose > 0) say("over the jump host by mcdtp-shim");
  const auto telling = choice.config && !has_master ? watch.ssh_words() : std::vector<std::string>();
  login.ssh = std::make_unique<SshProcess>(
      bootstrap_words(relayed ? *relayed : options, choice.config, exec_line, telling), SshManner::kAttended,
      stderr_of(options));
  // It says how it ended.
  login.ssh->let_end(choice.config && choice.config->log_level() > LogLevel::kInfo);
}

// What cannot be written, the far side's end says soon.
void write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// The answer to what the far side asks; nothing where it was not told that it may.
std::string answer(const std::string& question, const Options& options, const Opening& opening) {
  if (question == "slow") return "go\n";
  if (question == "env") return opening.environment_line;
  if (!question.starts_with(kInstallQuestion)) return options.server_subsystem ? opening.request_line : "";
  if (!opening.offer) return "";
  const std::string machine = question.substr(kInstallQuestion.size());
  std::string text = install_answer(*opening.offer, machine);
  if (options.quiet) return text;
  const bool sends = text.starts_with("send ");
  const std::size_t size = text.size() - text.find('\n') - 1;
  say((sends ? "installing mcdtp-server on " : "there is no server to install on ") + options.host + " (" +
      machine + (sends ? ", " + std::to_string(size) + " bytes)" : ")"));
  return text;
}

// Takes what came and says what is asked for, as long as anybody waits for it. False: nothing more comes.
bool take_more(Login& login, const Options& options, const Opening& opening, LoginWatch& watch,
               MutableBytes buffer) {
  const ssize_t got = read(login.ssh->stdout_fd(), buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  watch.something_came();
  login.result = login.finder.feed(buffer.first(static_cast<std::size_t>(got)));
  while (login.result == GreetingFinder::Result::kAsks) {
    const std::string text = login.late ? "" : answer(login.finder.question(), options, opening);
    if (!text.empty()) watch.heard();
    if (!text.empty()) write_whole(login.ssh->stdin_fd(), text);
    login.result = login.finder.feed({});
  }
  return true;
}

// False: it was silent for too long.
bool await_result(Login& login, const Options& options, const Opening& opening, LoginWatch& watch) {
  std::array<std::uint8_t, 16 * 1024> buffer;
  bool in_time = true;
  while (login.result == GreetingFinder::Result::kMore) {
    in_time = watch.wait_readable(login.ssh->stdout_fd());
    if (!in_time || !take_more(login, options, opening, watch, buffer)) break;
  }
  wipe(buffer);
  return in_time;
}

}  // namespace

std::unique_ptr<Login> log_in(const Options& options, const Libssh2Choice& choice, const Opening& opening,
                              Duration patience) {
  LoginWatch watch(options.relay ? kRelayPatience
                                 : std::max<Duration>(patience, connect_timeout(choice.config)));
  auto login = std::make_unique<Login>();
  if (options.server_subsystem || opening.offer || !opening.environment_line.empty())
    login->finder.take_questions();
  login->finder.await_start(opening.start_word);
  start_log_in(*login, options, choice, opening.exec_line, watch);
  const std::string host_name = choice.config ? choice.config->host_name() : options.host;
  // Where all goes over SSH nothing else is to be contacted, and no name server asked.
  const bool goes_directly = options.transport != Transport::kSsh;
  login->addresses = std::make_unique<FarAddresses>(goes_directly ? host_name : "", options.address_family);
  if (!await_result(*login, options, opening, watch)) {
    login->late = true;
    login->ssh->close_stdin();
    watch.begin_anew();
    // What a relay asks for may begin at any time: it runs no command.
    if (options.relay || !await_result(*login, options, opening, watch))
      login->result = GreetingFinder::Result::kNone;
  }
  login->done = watch.is_logged_in();
  if (!goes_directly && options.channels > 1) login->further_ssh = further_words(options, choice.config);
  return login;
}

}  // namespace mcdtp
