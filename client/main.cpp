#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/background.h"
#include "client/bootstrap.h"
#include "client/end_signals.h"
#include "client/git_hosts.h"
#include "client/libssh2_process.h"
#include "client/options.h"
#include "client/plain.h"
#include "client/remembered.h"
#include "client/say.h"
#include "client/session.h"
#include "client/ssh_exec.h"
#include "common/io/descriptor.h"
#include "common/io/descriptor_limit.h"
#include "common/io/system.h"

namespace {

using mcdtp::GreetingFinder;
using mcdtp::say;
using mcdtp::seconds_since_1970;

constexpr int kFailed = 255;

int print(std::string_view text) {
  return write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : kFailed;
}

// The real ssh, with the same words, for what it alone can do.
[[noreturn]] void become_ssh(const mcdtp::Options& options, const std::string& reason) {
  if (options.verbose > 0) say("going on as ssh: " + reason);
  mcdtp::hand_over(options.words_for_hand_over);
}

// A shell says so of what it cannot run, a server of ours and ssh of what failed, our own line of whom nobody waits for
// any more: the far side is out of order or slow, which will not last.
bool could_not_run(int status, bool late) {
  return status == 126 || status == 127 || status == kFailed || (late && status == mcdtp::kNobodyWaits);
}

// It let libssh2 in, and then would run nothing: just then, or never.
bool refused_session(const mcdtp::Login& login, int status) {
  return !login.peer_address.empty() && status == mcdtp::kSessionRefused;
}

// For how long the far side is taken to run no command of ours. Who said no start line is another command than ours; who
// did not even end may be a slow host. Nothing: it may be out of order.
std::optional<std::int64_t> period_of_forced(const mcdtp::Login& login, bool ended, int status) {
  using mcdtp::ForcedMemory;
  if (ended && !could_not_run(status, login.late))
    return refused_session(login, status) ? ForcedMemory::kUnsure : ForcedMemory::kSure;
  return login.result == GreetingFinder::Result::kNone ? std::optional(ForcedMemory::kUnsure) : std::nullopt;
}

void remember_forced(const mcdtp::Options& options, std::int64_t period, const mcdtp::ForcedMemory& memory) {
  const bool sure = period == mcdtp::ForcedMemory::kSure;
  if (memory.remember(seconds_since_1970(), period) || options.quiet || !sure) return;
  say(options.host + " runs a command of its own, each time twice, for that cannot be remembered in " +
      (memory.path().empty() ? "~/.cache" : memory.path()));
}

// A log-in that failed may have been one that wants to ask, or a jump host that is down: doubt is all that is left of it.
void judge_relay(mcdtp::Login& login, const mcdtp::RelayMemory& memory) {
  using mcdtp::RelayMemory;
  if (!login.done) return;
  login.ssh->close_pipes();
  const bool has_ended = !login.late && login.result == GreetingFinder::Result::kMore;
  const bool is_sure = has_ended ? login.ssh->wait() != kFailed : !login.late;
  memory.rule_out(seconds_since_1970(), is_sure ? RelayMemory::kSure : RelayMemory::kUnsure);
}

// The jump host carries none of ours. Nothing was asked and nothing said.
[[noreturn]] void leave_relay(const mcdtp::Options& options, mcdtp::Login& login,
                              const mcdtp::RelayMemory& memory) {
  judge_relay(login, memory);
  login.ssh.reset();
  become_ssh(options, "the jump host runs no mcdtp-server of this version");
}

// The user has told of no place, and brings no server.
bool looks_in_usual_places(const mcdtp::Options& options) {
  return !options.server_path && !options.server_subsystem && !options.install;
}

// What we asked for has begun, and ended without saying that there is no server.
bool did_not_start(const mcdtp::Login& login) {
  return !login.late && login.result == GreetingFinder::Result::kMore && login.finder.has_begun();
}

// There is no server, or one of another version, for what needs one: the real ssh does it.
void note_no_server(const mcdtp::Options& options, const std::optional<mcdtp::Remembered>& remembered) {
  if (!options.quiet) say("no mcdtp-server on " + options.host + ": going on over plain ssh");
  if (remembered && looks_in_usual_places(options)) remembered->absent.remember(seconds_since_1970());
}

// `ended`: with `status`, before a greeting came. Who has begun with our command is forced to no other.
void note_absence(const mcdtp::Options& options, const mcdtp::Login& login, bool ended, int status,
                  const std::optional<mcdtp::Remembered>& remembered) {
  if (login.result == GreetingFinder::Result::kNoSubsystem) return note_no_server(options, remembered);
  const bool failed = did_not_start(login);
  if (failed && !options.quiet)
    say("mcdtp-server on " + options.host + " did not start: going on over plain ssh");
  if (!failed && options.verbose > 0) say("the far side runs no command of ours: going on as plain ssh");
  if (!remembered || options.server_subsystem || login.finder.has_begun()) return;
  if (const auto period = period_of_forced(login, ended, status))
    remember_forced(options, *period, remembered->forced);
}

// No greeting: a failed log-in, of which ssh has spoken; or a command that the far side forces on this key, no server for
// what needs one, or one that cannot start. Then the real ssh runs, with the same words; not one byte of stdin has been read.
int without_greeting(const mcdtp::Options& options, mcdtp::Login& login,
                     const std::optional<mcdtp::Remembered>& remembered, mcdtp::Background* background) {
  if (options.relay && remembered) leave_relay(options, login, remembered->relay);
  const bool ended = login.result == GreetingFinder::Result::kMore;
  const bool silent = login.finder.noise().empty();
  login.ssh->close_pipes();
  const int status = ended ? login.ssh->wait() : 0;
  if (status == kFailed && !login.done && silent && !login.finder.has_begun()) return kFailed;
  note_absence(options, login, ended, status, remembered);
  login.ssh.reset();
  if (background != nullptr) background->give_back();
  mcdtp::hand_over(options.words_for_hand_over);
}

bool command_has_begun(GreetingFinder::Result result, const mcdtp::Options& options, bool needs_server) {
  if (result == GreetingFinder::Result::kPlain) return !needs_server;
  return result == GreetingFinder::Result::kGreeting && !options.no_command;
}

// The greeting, or the word of its absence, was on its way when we waited no longer: the command has begun, though its
// stdin has ended, and nothing runs twice.
int too_late(const mcdtp::Options& options) {
  if (!options.quiet)
    say(options.host +
        " answered too late, when its command had begun: it is not run again (a longer ConnectTimeout waits "
        "longer)");
  return kFailed;
}

// What ssh resolved, and whether libssh2 may log in.
mcdtp::Libssh2Choice choose_backend(const mcdtp::Options& options) {
  mcdtp::Libssh2Choice choice;
  if (options.server_subsystem) choice.why_not = "the server is a subsystem";
  if (options.message_log_path) choice.why_not = "ssh writes a log";
  if (choice.why_not.empty() && options.backend != mcdtp::BackendChoice::kSsh)
    return mcdtp::choose_libssh2(options);
  choice.config = mcdtp::ask_ssh_for_config(options);
  return choice;
}

std::optional<mcdtp::Remembered> remember(const mcdtp::Libssh2Choice& choice) {
  if (!choice.config) return std::nullopt;
  return mcdtp::Remembered(mcdtp::cache_folder(), *choice.config);
}

// How an attempt goes must be remembered, or each run would cost a log-in more where it goes ill.
std::optional<std::string> reason_for_no_relay(const mcdtp::SshConfig& config,
                                               const mcdtp::RelayMemory& memory) {
  if (mcdtp::has_key_to_touch(config)) return "there is a security key";
  if (memory.is_ruled_out(seconds_since_1970()))
    return "it carried none of ours of late, says " + memory.path();
  if (!memory.begin(seconds_since_1970())) return "how that goes cannot be remembered";
  return std::nullopt;
}

// Why the real ssh has to run, now that ssh's configuration is known.
std::optional<std::string> reason_to_leave(const mcdtp::Options& options, const mcdtp::SshConfig& config,
                                           const mcdtp::Remembered& remembered) {
  if (auto reason = mcdtp::only_for_ssh(config)) return reason;
  if (options.shim_wanted) return std::nullopt;
  if (mcdtp::serves_git_alone(config.host_name())) return "it serves git alone";
  const mcdtp::ForcedMemory& forced = remembered.forced;
  if (options.server_subsystem || !forced.holds(seconds_since_1970())) return std::nullopt;
  forced.renew(seconds_since_1970());
  return "no command of ours ran there of late, says " + forced.path();
}

// Takes over what ssh resolved. The real ssh runs where it alone can do what is wanted.
void configure(mcdtp::Options& options, const mcdtp::Libssh2Choice& choice,
               const std::optional<mcdtp::Remembered>& remembered) {
  if (!choice.has_ssh && choice.plan) say("there is no ssh here: its configuration was not read");
  // It may say so to a shell alone, and is to say it itself.
  if (choice.has_ssh && !choice.config && !options.command && !options.no_command)
    become_ssh(options, "it does not take the options");
  if (choice.config) apply_configuration(options, *choice.config);
  if (options.terminal_if_stdin_is_one && !options.no_command && isatty(STDIN_FILENO))
    become_ssh(options, "it wants a terminal");
  if (options.relay && !remembered) become_ssh(options, "it does not take the options");
  if (!remembered) return;
  if (const auto reason = reason_to_leave(options, *choice.config, *remembered)) become_ssh(options, *reason);
  if (!options.relay) return;
  if (const auto reason = reason_for_no_relay(*choice.config, remembered->relay))
    become_ssh(options, *reason);
}

bool needs_server(const mcdtp::Options& options, const mcdtp::ForwardPlan& plan) {
  return options.no_command || plan.forwards_anything();
}

mcdtp::Opening make_opening(const mcdtp::Options& options, const mcdtp::Libssh2Choice& choice,
                            const mcdtp::ForwardPlan& plan) {
  mcdtp::ExecRequest request = mcdtp::exec_request(options, choice.config);
  request.remote_forwards = plan.remote_forwards();
  request.needs_server = needs_server(options, plan);
  auto opening = mcdtp::build_opening(options, choice.config, std::move(request));
  if (!opening) become_ssh(options, "the command is too long, or the variables to send");
  return std::move(*opening);
}

// What needs a server goes by the real ssh at once where there was none of late.
void look_for_absence(const mcdtp::Options& options, const mcdtp::ForwardPlan& plan,
                      const std::optional<mcdtp::Remembered>& remembered) {
  const bool needed = options.subsystem || needs_server(options, plan);
  if (!needed || options.relay || options.shim_wanted || !remembered || !looks_in_usual_places(options))
    return;
  if (!remembered->absent.holds(seconds_since_1970())) return;
  if (!options.quiet)
    say("no mcdtp-server on " + options.host + " of late, says " + remembered->absent.path() +
        ": going on over plain ssh");
  mcdtp::hand_over(options.words_for_hand_over);
}

void note_server(const mcdtp::Remembered& remembered) {
  remembered.forced.forget();
  remembered.absent.forget();
  remembered.relay.forget_ruled_out(seconds_since_1970());
}

int log_in_and_run(mcdtp::Options options, mcdtp::TransferLog& log, const std::vector<int>& end_signals) {
  if (options.relay) options.backend = mcdtp::BackendChoice::kAuto;
  const mcdtp::Libssh2Choice choice = choose_backend(options);
  const auto remembered = remember(choice);
  configure(options, choice, remembered);
  const auto plan = mcdtp::plan_forwards(options, choice.config);
  if (!plan) become_ssh(options, "it knows what to forward");
  look_for_absence(options, *plan, remembered);
  const mcdtp::Opening opening = make_opening(options, choice, *plan);
  mcdtp::LocalPorts ports(*plan, mcdtp::write_line_if_room);
  // A command that is nothing without them is not to begin, and one begins with the log-in.
  if (plan->exit_on_failure && plan->beside_command && !ports.open()) return kFailed;
  const auto background = options.background ? std::make_unique<mcdtp::Background>() : nullptr;
  const auto go_to_background = [&] {
    if (background) background->go(!options.no_command || options.verbose > 0);
  };
  const auto login = mcdtp::log_in(options, choice, opening);
  if (login->late && command_has_begun(login->result, options, needs_server(options, *plan)))
    return too_late(options);
  const auto result = login->late ? GreetingFinder::Result::kNone : login->result;
  switch (result) {
    case GreetingFinder::Result::kGreeting:
      if (remembered) note_server(*remembered);
      if (const auto status =
              mcdtp::run_session(options, ports, *login, remembered, log, end_signals, go_to_background))
        return *status;
      login->ssh.reset();
      become_ssh(options, "the jump host's server forwards nothing");
    case GreetingFinder::Result::kPlain:
      // An older server, which knows of no forwards: it has begun the command, and HUPs it.
      if (needs_server(options, *plan)) break;
      if (!options.quiet) say("no mcdtp-server on " + options.host + ": going on over plain ssh");
      go_to_background();
      return mcdtp::run_plain_session(*login, !options.no_stdin, end_signals);
    default: break;
  }
  return without_greeting(options, *login, remembered, background.get());
}

int run(int argc, char** argv) {
  // As ssh: what the caller left open, a lock or a pipe, is not kept for as long as we run.
  closefrom(STDERR_FILENO + 1);
  mcdtp::open_missing_stdio();
  const std::vector<int> end_signals = mcdtp::find_end_signals();
  std::signal(SIGPIPE, SIG_IGN);
  // A log that may not grow is a log less, no end.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> words(argv + 1, argv + argc);
  const mcdtp::Options options = mcdtp::parse_options(words, mcdtp::read_preferences());
  if (options.relay) mcdtp::say_of_way_to(options.host);
  switch (options.action) {
    case mcdtp::Action::kUsageError: say(options.message); return kFailed;
    case mcdtp::Action::kHelp: return print(mcdtp::help_text());
    case mcdtp::Action::kVersion: return print("mcdtp-shim " MCDTP_VERSION "\n");
    case mcdtp::Action::kHandOver:
      if (options.print_configuration && !mcdtp::look_for_real_ssh())
        return print(mcdtp::least_config(options));
      become_ssh(options, options.message);
    case mcdtp::Action::kRun: break;
  }
  if (mcdtp::is_below_our_ssh() && !options.relay)
    become_ssh(options, "an ssh that mcdtp-shim has started calls it");
  if (!mcdtp::allows_session()) become_ssh(options, "too few files may be open here");
  if (options.message_log_path) mcdtp::say_into(*options.message_log_path);
  mcdtp::TransferLog log(options.log_path, options.full_log_path, mcdtp::say_if_room);
  return log_in_and_run(options, log, end_signals);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    say(error.what());
    return kFailed;
  }
}
