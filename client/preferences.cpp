#include "client/preferences.h"

#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "client/host_pattern.h"
#include "client/own_options.h"
#include "common/core/shell_words.h"
#include "common/io/file_text.h"
#include "common/io/home_path.h"

namespace mcdtp {
namespace {

using Complaint = std::optional<std::string>;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Logs have names on this host, and no shell has seen them here.
void expand_home(SshOption& option, const std::string& home) {
  const bool is_path = option.name == "log" || option.name == "log-full";
  if (is_path && option.value) option.value = in_home(*option.value, home);
}

// Whether the option can be followed by itself; what it does to others is judged once all are known.
Complaint judge(const SshOption& option, const std::string& place) {
  if (option.name == "help" || option.name == "version" || option.name == "relay")
    return place + ": --" + option.name + " has no place here";
  Options scratch;
  const auto complaint = apply_own_option(option, scratch);
  return complaint ? Complaint(place + ": " + *complaint) : std::nullopt;
}

// One pass over the file.
class FileReader {
 public:
  FileReader(const Preferences& all, const std::string& host, HostPreferences& found)
      : all_(all), host_(host), found_(found) {}

  Complaint read();

 private:
  Complaint read_line(const Keyword& keyword);
  void read_host(const Keyword& keyword);
  Complaint read_switch(const Keyword& keyword);
  Complaint read_option(SshOption option);
  std::string place() const { return all_.path + " line " + std::to_string(line_); }

  const Preferences& all_;
  const std::string& host_;
  HostPreferences& found_;
  std::size_t line_ = 0;
  bool applies_ = true;  // before the first Host line all hosts are meant
};

Complaint FileReader::read() {
  std::string_view text = all_.text;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_;
    const auto start = line.find_first_not_of(" \t\r\f");
    if (start == std::string_view::npos || line[start] == '#') continue;
    const auto keyword = parse_keyword(line);
    if (!keyword) return place() + ": there is no value, or a quote is not closed";
    if (auto complaint = read_line(*keyword)) return complaint;
  }
  return std::nullopt;
}

Complaint FileReader::read_line(const Keyword& keyword) {
  if (keyword.name == "host") {
    read_host(keyword);
    return std::nullopt;
  }
  auto option = own_option_of(keyword.name, keyword.values[0]);
  const bool is_switch = keyword.name == "shim";
  if (!option && !is_switch) return place() + ": there is no option " + keyword.name + " here";
  if (keyword.values.size() != 1) return place() + ": more than one value for " + keyword.name;
  return is_switch ? read_switch(keyword) : read_option(std::move(*option));
}

void FileReader::read_host(const Keyword& keyword) {
  applies_ = false;
  for (std::string_view pattern : keyword.values) {
    const bool negated = pattern.starts_with('!');
    if (negated) pattern.remove_prefix(1);
    if (!matches_pattern(host_, pattern)) continue;
    applies_ = !negated;
    if (negated) return;
  }
}

Complaint FileReader::read_switch(const Keyword& keyword) {
  const auto value = parse_switch(keyword.values[0]);
  if (!value) return place() + ": Shim " + keyword.values[0] + ": there are on and off";
  if (applies_ && !found_.shim) found_.shim = value;
  return std::nullopt;
}

Complaint FileReader::read_option(SshOption option) {
  if (auto complaint = judge(option, place())) return complaint;
  expand_home(option, all_.home);
  const auto same = [&](const PlacedOption& other) {
    return other.option.letter == option.letter && other.option.name == option.name;
  };
  const bool first = std::none_of(found_.from_file.begin(), found_.from_file.end(), same);
  if (applies_ && first) found_.from_file.push_back({std::move(option), place()});
  return std::nullopt;
}

Complaint read_environment(const Preferences& all, HostPreferences& found) {
  const std::string place = "MCDTP_OPTIONS";
  const auto words = split_shell_words(all.options);
  if (!words) return place + ": a quote is not closed";
  SshArguments arguments(*words, own_option_rule);
  while (auto option = arguments.next_option()) {
    if (option->letter != 0 && !is_channel_count(*option))
      return place + ": -" + option->letter + " is none of our options";
    if (auto complaint = judge(*option, place)) return complaint;
    expand_home(*option, all.home);
    found.from_environment.push_back({std::move(*option), place});
  }
  if (!arguments.at_end()) return place + ": " + arguments.word() + " is none of our options";
  return std::nullopt;
}

Complaint read_shim_variable(const Preferences& all, HostPreferences& found) {
  if (all.shim.empty()) return std::nullopt;
  found.shim = parse_switch(all.shim);
  return found.shim ? std::nullopt : Complaint("MCDTP=" + all.shim + ": there are on and off");
}

bool has(const std::vector<PlacedOption>& options, std::string_view name) {
  return std::any_of(options.begin(), options.end(),
                     [&](const PlacedOption& placed) { return placed.option.name == name; });
}

bool last_cc_is_fixed(const std::vector<PlacedOption>& options) {
  const auto last = std::find_if(options.rbegin(), options.rend(),
                                 [](const PlacedOption& placed) { return placed.option.name == "cc"; });
  return last == options.rend() || last->option.value == "fixed";
}

// A rate alone asks for "fixed", as a --cc beside it would; another --cc has no use for rate and pacing.
void drop_overruled(std::vector<PlacedOption>& weaker, const std::vector<PlacedOption>& stronger) {
  const auto drop = [&](std::string_view name) {
    std::erase_if(weaker, [&](const PlacedOption& placed) { return placed.option.name == name; });
  };
  const bool says_cc = has(stronger, "cc");
  if (says_cc || has(stronger, "rate")) drop("cc");
  if (says_cc && !last_cc_is_fixed(stronger)) {
    drop("rate");
    drop("pacing");
  }
}

// As ssh judges its own on Debian: the group may write whose name is the user's own.
bool others_may_write(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return true;
  const bool by_group = (file.st_mode & S_IWGRP) != 0 && file.st_gid != getgid();
  const bool is_ours = file.st_uid == getuid() || file.st_uid == 0;
  return !is_ours || by_group || (file.st_mode & S_IWOTH) != 0;
}

}  // namespace

Preferences read_preferences() {
  Preferences all;
  all.options = environment("MCDTP_OPTIONS");
  all.shim = environment("MCDTP");
  all.home = environment("HOME");
  std::string folder = environment("XDG_CONFIG_HOME");
  if (!folder.starts_with('/')) folder = all.home.empty() ? "" : all.home + "/.config";
  if (folder.empty()) return all;
  all.path = folder + "/mcdtp/config";
  FileText file = read_file_text(all.path);
  all.text = std::move(file.text);
  const bool none = file.error == ENOENT || file.error == ENOTDIR;
  if (file.error != 0 && !none) all.file_error = "read " + all.path + ": " + file.reason();
  if (file.error == 0 && others_may_write(all.path))
    all.file_error = "bad owner or permissions on " + all.path;
  return all;
}

std::optional<bool> parse_switch(std::string_view text) {
  constexpr std::array<std::string_view, 6> kNames = {"on", "yes", "true", "off", "no", "false"};
  const auto same = [&](std::string_view name) {
    return name.size() == text.size() && strncasecmp(name.data(), text.data(), text.size()) == 0;
  };
  const auto found = std::find_if(kNames.begin(), kNames.end(), same);
  if (found == kNames.end()) return std::nullopt;
  return found - kNames.begin() < 3;
}

std::optional<std::string> find_preferences(const Preferences& all, const std::string& host,
                                            HostPreferences& found) {
  if (auto complaint = read_shim_variable(all, found)) return complaint;
  // Switched off it goes on whatever the rest says.
  if (found.shim == false) return std::nullopt;
  if (all.file_error) return all.file_error;
  if (auto complaint = FileReader(all, host, found).read()) return complaint;
  return read_environment(all, found);
}

std::vector<PlacedOption> merge_options(const HostPreferences& preferences,
                                        const std::vector<SshOption>& command_line) {
  std::vector<PlacedOption> from_file = preferences.from_file;
  std::vector<PlacedOption> from_environment = preferences.from_environment;
  std::vector<PlacedOption> given;
  for (const SshOption& option : command_line) given.push_back({option, ""});
  drop_overruled(from_file, from_environment);
  drop_overruled(from_file, given);
  drop_overruled(from_environment, given);
  from_file.insert(from_file.end(), from_environment.begin(), from_environment.end());
  from_file.insert(from_file.end(), given.begin(), given.end());
  return from_file;
}

}  // namespace mcdtp
