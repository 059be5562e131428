#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/known_hosts.h"
#include "client/ssh_config.h"
#include "client/ssh_keys.h"

namespace mcdtp {

// What must be known of this host beside ssh's configuration.
struct LocalFacts {
  std::string libssh2_version;              // "1.10.0"
  bool has_control_socket = false;          // something stands at ControlPath
  std::optional<std::string> agent_socket;  // the agent's, where there is one
  std::vector<Identity> identities;         // in order; not ssh's default names that do not exist
  bool paths_are_clear = true;              // we can tell every file that the configuration names
  std::string missing_identity;             // a file of -i that is not there, as given; empty: none
  bool explains = false;                    // -v: what is said of the log-in is ours to say
};

// Can this libssh2 log in with a key of this type, or believe a host by it? RSA keys only where it knows
// SHA-2.
bool libssh2_supports_key(const std::string& type, const std::string& libssh2_version);

// A key that ssh would offer to the far side.
struct KeyOffer {
  OfferedKey key;
  std::string obstacle;  // why libssh2 cannot offer it, a sentence; empty: it can
};

// The keys that ssh would offer, in its order. At the first obstacle libssh2 must stop: were it to go on,
// another key would log in than with ssh, and a far side may give each key its own rights.
std::vector<KeyOffer> key_offers(const SshConfig& config, const std::vector<Identity>& identities,
                                 const std::vector<std::string>& agent_blobs,
                                 const std::string& libssh2_version);

// The host key algorithms to ask the far side for, in ssh's order: those of the keys known. libssh2 by itself
// would ask for its own favourite, and then find a host changed that is not.
std::vector<std::string> host_key_algorithms(const SshConfig& config, const KnownHostKeys& known,
                                             const std::string& libssh2_version);

// Why libssh2 must not log in here, in words for -v; nothing: it can do all that is asked, and nothing will
// prompt. In doubt it must not. Pure.
std::optional<std::string> why_not_libssh2(const SshConfig& config, const KnownHostKeys& known,
                                           const LocalFacts& facts);

}  // namespace mcdtp
