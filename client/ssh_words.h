#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mcdtp {

// What follows an option. kUnknown: ssh 9.2 has no such letter, or nobody such a long name.
// kOptional: a value only after "=", of a long option.
enum class ValueRule { kNone, kRequired, kOptional, kUnknown };

// The rule of one letter, after the option string of OpenSSH 9.2.
ValueRule ssh_letter_rule(char letter);

// One option as it stands on the command line.
struct SshOption {
  char letter = 0;                   // 0: a long one, and then `name` is set
  std::string name;                  // without its dashes
  std::optional<std::string> value;  // unset: it takes none, or the words ended before it
  bool value_is_next_word = false;   // -p 22, as against -p22
  bool value_missing = false;
  std::size_t word = 0;  // where the letter stands: letters of one cluster share it
};

// Reads a command line by ssh's getopt: letters cluster, values may be glued to their letter, and the first
// word that is no option ends the run of options. Long options are ours, --name=value or --name value.
class SshArguments {
 public:
  using LongRule = ValueRule (*)(std::string_view name);

  // REQUIRES: `words` outlives this object.
  SshArguments(std::span<const std::string> words, LongRule long_rule)
      : words_(words), long_rule_(long_rule) {}

  // The next option, or nothing when the next word is "--", no option, or missing.
  std::optional<SshOption> next_option();

  bool at_end() const { return index_ == words_.size(); }
  // REQUIRES for both: no cluster is half read, and !at_end().
  const std::string& word() const { return words_[index_]; }
  const std::string& take_word() { return words_[index_++]; }
  // Whether the word before is "--". Like ssh, this asks not what the word was for.
  bool after_terminator() const { return index_ > 0 && words_[index_ - 1] == "--"; }

 private:
  SshOption next_letter();
  SshOption next_long();
  void take_value(SshOption& option);

  std::span<const std::string> words_;
  LongRule long_rule_;
  std::size_t index_ = 0;
  std::size_t letter_ = 0;  // position inside a cluster; 0: between words
};

// Writes options back as they stood, some left out: of -qc8 only -q is kept when -c 8 is not.
class KeptWords {
 public:
  // REQUIRES: a short option, in the order of the command line.
  void keep(const SshOption& option);
  void keep(std::string word);
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  std::optional<std::size_t> cluster_;  // the source word whose letters the last of words_ holds
};

// host, user@host or ssh://user@host:port.
struct Destination {
  std::string host;
  std::optional<std::string> user;
  std::optional<std::uint16_t> port;
};

// Nothing for anything but a number of 1 to 65535. ssh takes the name of a service too.
std::optional<std::uint16_t> parse_port(std::string_view text);

// Nothing for what only the real ssh can judge: an empty user, where it prints its usage, and an ssh://
// address that is bad or names a service for its port, a line break, also as %0a.
std::optional<Destination> parse_destination(std::string_view text);

// A -o line. `rest` is what follows the keyword, `values` the same split into words by ssh's quotes.
struct Keyword {
  std::string name;  // in lower case
  std::string rest;
  std::vector<std::string> values;  // never empty
};

// Reads "Key=value", "Key value", ' Key = "value"' and the like. Nothing for an empty line, a comment, a
// keyword without value and unbalanced quotes: ssh knows what to say of those.
std::optional<Keyword> parse_keyword(std::string_view line);

}  // namespace mcdtp
