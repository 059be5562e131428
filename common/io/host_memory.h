#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mcdtp {

inline constexpr std::uint64_t kLeastDefaultMemory = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kMostDefaultMemory = std::uint64_t{4} << 30;

// The most memory for data under way where the user names none: a sixteenth of what this process may have, within the
// two bounds. In bytes.
std::uint64_t default_memory();
// `available`: bytes.
std::uint64_t default_memory_of(std::uint64_t available);

// What the host has, or less, where a limit of its control group says so. In bytes.
std::uint64_t available_memory();
// The tightest limit of the control group and those that it is in, in bytes; nullopt: there is none, or control groups
// are not as in cgroups(7), version 2. `groups`: the text of /proc/self/cgroup; `root`: where groups have their folders.
std::optional<std::uint64_t> group_memory_limit(const std::string& groups, const std::string& root);

}  // namespace mcdtp
