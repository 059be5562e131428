#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "client/host_pattern.h"

namespace mcdtp {

// The large hosts of git repositories: every key there is bound to git's own commands, so that a log-in of ours
// would be one for nothing. Any other such host is found out at the first log-in, and remembered.
inline bool serves_git_alone(std::string_view host_name) {
  constexpr std::array<std::string_view, 11> kHosts = {"github.com",
                                                       "ssh.github.com",
                                                       "gitlab.com",
                                                       "altssh.gitlab.com",
                                                       "bitbucket.org",
                                                       "altssh.bitbucket.org",
                                                       "codeberg.org",
                                                       "git.sr.ht",
                                                       "ssh.dev.azure.com",
                                                       "*.visualstudio.com",
                                                       "git-codecommit.*.amazonaws.com"};
  return std::any_of(kHosts.begin(), kHosts.end(),
                     [&](std::string_view pattern) { return matches_pattern(host_name, pattern); });
}

}  // namespace mcdtp
