#pragma once

#include <optional>
#include <string>

#include "client/libssh2_choice.h"
#include "client/options.h"

namespace mcdtp {

// All that a login by libssh2 has to know.
struct Libssh2Plan {
  std::string host;  // as the user names it
  SshConfig config;
  KnownHostKeys known;
  LocalFacts facts;
};

struct Libssh2Choice {
  std::optional<SshConfig>
      config;           // what ssh resolved; nothing where it refused the options, or there is no ssh
  bool has_ssh = true;  // there is an ssh to fall back to
  std::optional<Libssh2Plan> plan;  // nothing: libssh2 must not log in, because of
  std::string why_not;              // this, in words for -v
};

// Reads ssh's configuration, the known_hosts files and the key files, and asks why_not_libssh2(). Where there
// is no ssh, its defaults stand for the configuration, and no options are taken but those that they leave clear: `has_ssh`
// is false then, and the user is told so.
// REQUIRES: options.action is kRun.
Libssh2Choice choose_libssh2(const Options& options);

}  // namespace mcdtp
