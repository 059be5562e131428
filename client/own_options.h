#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/options.h"

namespace mcdtp {

// Whether `name`, a long option without its dashes, is ours and takes a value.
ValueRule own_option_rule(std::string_view name);

// -c N is ours when N is all digits; otherwise -c names ssh's cipher.
bool is_channel_count(const SshOption& option);

// Our option for a line `keyword` `value` of the configuration file: channels, and the long options with their dashes
// or without, in lower case. Nothing: there is none.
std::optional<SshOption> own_option_of(std::string_view keyword, const std::string& value);

// Applies -c N or a long option; the last one of a kind wins. Returns what is wrong with it, in a sentence.
[[nodiscard]] std::optional<std::string> apply_own_option(const SshOption& option, Options& options);

// Of our options those that say how data go, where they are not the defaults, as words of a command line.
std::vector<std::string> words_of_way(const Options& options);

// Judges our options together, once all are read, and settles what hangs on others.
[[nodiscard]] std::optional<std::string> check_own_options(Options& options, bool congestion_given,
                                                           bool channels_given);

}  // namespace mcdtp
