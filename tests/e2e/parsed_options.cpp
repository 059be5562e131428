// Prints what mcdtp-shim makes of its arguments, a line for each fact, for tests/e2e/parsing_test.py. A value's
// bytes are in hexadecimal where they may hold anything.
#include <cstdio>
#include <string>
#include <vector>

#include "client/options.h"

namespace {

using Words = std::vector<std::string>;

std::string hex(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += {kDigits[byte >> 4], kDigits[byte & 0xf]};
  }
  return out;
}

const char* name_of(mcdtp::Action action) {
  switch (action) {
    case mcdtp::Action::kRun: return "run";
    case mcdtp::Action::kHandOver: return "hand-over";
    case mcdtp::Action::kUsageError: return "error";
    default: return "help";
  }
}

const char* name_of(mcdtp::AddressFamily family) {
  switch (family) {
    case mcdtp::AddressFamily::kIpv4: return "inet";
    case mcdtp::AddressFamily::kIpv6: return "inet6";
    default: return "any";
  }
}

void print(const char* name, const std::string& value) { std::printf("%s %s\n", name, value.c_str()); }
void print(const char* name, bool value) { print(name, std::string(value ? "yes" : "no")); }
void print_words(const char* name, const Words& words) {
  for (const std::string& word : words) print(name, hex(word));
}

}  // namespace

int main(int argc, char** argv) {
  const mcdtp::Options options = mcdtp::parse_options(Words(argv + 1, argv + argc));
  print("action", std::string(name_of(options.action)));
  print("message", options.message);
  print("host", hex(options.host));
  if (options.user) print("user", hex(*options.user));
  if (options.port) print("port", std::to_string(*options.port));
  if (options.command) print("command", hex(*options.command));
  print("subsystem", options.subsystem);
  print("quiet", options.quiet);
  print("verbose", std::to_string(options.verbose));
  print("stdinnull", options.no_stdin);
  print("no-command", options.no_command);
  print("background", options.background);
  print("forwards", options.forwards);
  print("addressfamily", std::string(name_of(options.address_family)));
  print("terminal", options.terminal_if_stdin_is_one);
  print_words("ssh-word", options.ssh_words);
  print_words("hand-over-word", options.words_for_hand_over);
}
