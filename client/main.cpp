#include <unistd.h>

#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/background.h"
#include "client/bootstrap.h"
#include "client/end_signals.h"
#include "client/git_hosts.h"
#include "client/options.h"
#include "client/plain.h"
#include "client/remembered.h"
#include "client/say.h"
#include "client/session.h"
#include "client/ssh_exec.h"
#include "client/without_greeting.h"
#include "common/io/descriptor.h"
#include "common/io/descriptor_limit.h"
#include "common/io/system.h"

namespace {

using mcdtp::become_ssh;
using mcdtp::GreetingFinder;
using mcdtp::say;
using mcdtp::seconds_since_1970;

constexpr int kFailed = 255;

int print(std::string_view text) {
  return write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : kFailed;
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
  request.remote_forwards = plan.remote_forwards() + (plan.holds_command() ? 1 : 0);
  request.needs_server = needs_server(options, plan);
  auto opening = mcdtp::build_opening(options, choice.config, std::move(request));
  if (!opening) become_ssh(options, "the command is too long, or the variables to send");
  return std::move(*opening);
}

// A command that is nothing without its ports is not to begin, and one begins with the log-in. What stands at a path would
// stay there, did we not get as far.
bool must_stand_first(const mcdtp::ForwardPlan& plan) {
  return plan.exit_on_failure && plan.beside_command && !plan.listens_at_path();
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
  const bool is_server_needed = options.subsystem || needs_server(options, *plan);
  if (is_server_needed && remembered) leave_where_absent(options, *remembered);
  const mcdtp::Opening opening = make_opening(options, choice, *plan);
  const auto background = options.background ? std::make_unique<mcdtp::Background>() : nullptr;
  mcdtp::LocalPorts ports(*plan, mcdtp::write_line_if_room);
  if (must_stand_first(*plan) && !ports.open()) return kFailed;
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
      note_plain(options, remembered);
      go_to_background();
      return mcdtp::run_plain_session(*login, !options.no_stdin, end_signals);
    default: break;
  }
  ports.give_up();
  return mcdtp::without_greeting(options, *login, remembered, background.get());
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
