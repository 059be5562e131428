#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "common/io/descriptor.h"
#include "server/admin.h"
#include "server/command.h"
#include "server/limits.h"
#include "server/options.h"
#include "server/serve.h"

namespace {

constexpr int kFailed = 255;

// For callers that the far shell started for nothing: the line and the newline are all that goes to stdout.
int say(std::string_view text) {
  return ::write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : kFailed;
}

// The host's limits, and more where the administrator names them.
mcdtp::Limits all_limits(const std::optional<mcdtp::AdminOptions>& admin) {
  mcdtp::Limits limits = mcdtp::read_limits(MCDTP_SERVER_CONF, true);
  if (!admin) return limits;
  for (const std::string& path : admin->limits_files)
    limits = tighter(limits, mcdtp::read_limits(path, false));
  return admin->forced ? limits_where_forced(limits) : limits;
}

// Unset: the client is none of ours, and gets the forced command alone.
std::optional<mcdtp::ServerOptions> find_options(const std::vector<std::string>& words,
                                                 const std::optional<mcdtp::AdminOptions>& admin) {
  if (!admin) return mcdtp::parse_server_words(words);
  if (!admin->forced) return mcdtp::parse_server_words(mcdtp::ask_for_words());
  const char* original = std::getenv("SSH_ORIGINAL_COMMAND");
  return mcdtp::forced_options(*admin->forced,
                               original ? std::optional<std::string>(original) : std::nullopt);
}

[[noreturn]] void become_command(const mcdtp::CommandSpec& spec) {
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  mcdtp::run_plain(spec);
}

void take_environment(mcdtp::ServerOptions& options, bool forced) {
  auto more = mcdtp::ask_for_environment();
  if (forced) mcdtp::keep_harmless(more);
  options.environment.insert(options.environment.end(), more.begin(), more.end());
}

int run_client(mcdtp::ServerOptions options, const mcdtp::Limits& limits, bool forced) {
  if (!options.start_word.empty() && say(mcdtp::start_line(options.start_word)) != 0) return kFailed;
  if (options.subsystem && !mcdtp::find_subsystem(*options.command)) return say(mcdtp::no_subsystem_line());
  apply_limits(limits, options);
  const bool same_protocol = options.protocol == mcdtp::kProtocolVersion;
  if (!same_protocol && options.no_plain) return say(mcdtp::no_subsystem_line());
  if (options.asks_environment) take_environment(options, forced);
  if (same_protocol) return mcdtp::serve(options);
  // Another version of the client: it gets what it would get without us.
  if (say(mcdtp::plain_line()) != 0) return kFailed;
  become_command({options.command, options.subsystem, options.environment, mcdtp::account_of_user()});
}

// Under ssh the command's words are those of its own process alone: a `pkill -f` that is the command, or one of the
// administrator's, is not to find us by them. They follow the last of our options, or the first of the administrator's.
void hide_command(int argc, char** argv) {
  constexpr std::string_view kForced = "--forced";
  char** const end = argv + argc;
  char** const words = std::find_if(
      argv, end, [&](std::string_view word) { return word == "--" || word.starts_with(kForced); });
  for (char** word = words; word < end; ++word) std::memset(*word, 0, std::strlen(*word));
}

int run(int argc, char** argv) {
  mcdtp::open_missing_stdio();
  std::signal(SIGPIPE, SIG_IGN);
  // A log that may not grow is a log less, no end.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> words(argv + 1, argv + argc);
  hide_command(argc, argv);
  const auto admin = mcdtp::parse_admin_options(words);
  const auto options = find_options(words, admin);
  if (options && options->print) return say(*options->print);
  // A file that cannot be followed is the administrator's to mend: no server goes on without it.
  const mcdtp::Limits limits = all_limits(admin);
  if (!options) become_command({admin->forced, false, {}, mcdtp::account_of_user()});
  // Of our exec line; what the client asked for is among the options.
  if (admin) unsetenv("SSH_ORIGINAL_COMMAND");
  return run_client(*options, limits, admin && admin->forced);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    mcdtp::write_stderr_all(std::string("mcdtp-server: ") + error.what() + "\n");
    return kFailed;
  }
}
