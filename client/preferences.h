#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/ssh_words.h"

namespace mcdtp {

// What the user has said for all runs, as it was found: nothing here is judged yet.
struct Preferences {
  std::string path;                       // of the configuration file, for messages
  std::string text;                       // of that file; empty: there is none
  std::optional<std::string> file_error;  // why it could not be read, a sentence
  std::string options;                    // MCDTP_OPTIONS
  std::string shim;                       // MCDTP
  std::string home;                       // what a ~ at the start of a log's name stands for
};

// From the environment and the file that it names: $XDG_CONFIG_HOME/mcdtp/config, else ~/.config/mcdtp/config.
Preferences read_preferences();

// One of our options, and where it stands, in words for a complaint.
struct PlacedOption {
  SshOption option;
  std::string place;
};

// What the preferences say for one host.
struct HostPreferences {
  std::vector<PlacedOption> from_file;         // each name once: the first one that the file has for the host
  std::vector<PlacedOption> from_environment;  // in order: the last of a name wins
  std::optional<bool> shim;                    // the switch; unset: nobody touched it
};

// on, yes, true; off, no, false; whatever their case.
std::optional<bool> parse_switch(std::string_view text);

// Reads what holds for `host`. All lines of the file are judged, those for other hosts too. Returns what is wrong
// with the first bad one, a sentence with its place. Pure.
[[nodiscard]] std::optional<std::string> find_preferences(const Preferences& all, const std::string& host,
                                                          HostPreferences& found);

// All of our options that count, weakest first, so that the last of a name wins: of the file, of MCDTP_OPTIONS, of
// the command line. --cc, --rate and --pacing belong together: what a stronger place says of one takes the others
// of a weaker place away where they would not fit. Pure.
std::vector<PlacedOption> merge_options(const HostPreferences& preferences,
                                        const std::vector<SshOption>& command_line);

}  // namespace mcdtp
