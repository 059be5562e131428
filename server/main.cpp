#include <unistd.h>

#include <csignal>
#include <exception>
#include <string>

#include "common/io/descriptor.h"
#include "server/command.h"
#include "server/options.h"
#include "server/serve.h"

namespace {

constexpr int kFailed = 255;

// For callers that the far shell started for nothing: the line and the newline are all that goes to stdout.
int say(std::string_view text) {
  return ::write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : kFailed;
}

int run(int argc, char** argv) {
  mcdtp::open_missing_stdio();
  std::signal(SIGPIPE, SIG_IGN);
  const mcdtp::ServerOptions options = mcdtp::parse_server_options(argc, argv);
  if (options.print) return say(*options.print);
  if (options.subsystem && !mcdtp::find_subsystem(*options.command)) return say(mcdtp::no_subsystem_line());
  if (options.protocol == mcdtp::kProtocolVersion) return mcdtp::serve(options);
  if (options.no_plain) return say(mcdtp::no_subsystem_line());
  // Another version of the client: it gets what it would get without us.
  if (say(mcdtp::plain_line()) != 0) return kFailed;
  std::signal(SIGPIPE, SIG_DFL);
  mcdtp::run_plain({options.command, options.subsystem, options.environment});
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
