#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/options.h"

namespace mcdtp {

// How the administrator has the server started, in authorized_keys, by ForceCommand, or as a Subsystem of sshd.
struct AdminOptions {
  std::optional<std::string> forced;      // runs, whatever the client asks for
  bool asks = false;                      // the client's words come on stdin
  std::vector<std::string> limits_files;  // beside the host's own
};

// Unset: the first word is none of the administrator's, so that all are the client's. The client cannot say any of
// these, for in its words they stand for nothing. Throws a sentence. Pure.
std::optional<AdminOptions> parse_admin_options(const std::vector<std::string>& words);

// What is to run where `forced` is the command and `original` is SSH_ORIGINAL_COMMAND, which the command then gets as
// it would from a plain ssh: what the client's exec line says to run, or nothing. Of the client's environment only
// LANG, LC_* and GIT_PROTOCOL are taken, ports are not forwarded, no other host gets a packet, and no log is written.
// Unset: the client is none of ours, or another version's that cannot be told from that; the forced command is to be run
// as it is. Throws a sentence.
std::optional<ServerOptions> forced_options(const std::string& forced,
                                            const std::optional<std::string>& original);

// Only LANG, LC_* and GIT_PROTOCOL stay, and what the server itself has set: no client may loosen what is forced by
// what a program makes of a variable.
void keep_harmless(Environment& environment);

// Asks the client for variables that do not stand in argv, and reads them from stdin. Throws a sentence.
Environment ask_for_environment();

// Says that it waits for the client's words, and reads them from stdin. Throws a sentence.
std::vector<std::string> ask_for_words();

}  // namespace mcdtp
