#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mcdtp {

// The name under which known_hosts files hold a host: in lower case, as "[name]:port" where the port is
// not 22.
std::string known_hosts_name(std::string_view host, std::uint16_t port);

struct HostKey {
  std::string type;  // "ssh-ed25519"
  std::string blob;  // the key as SSH sends it
  bool operator==(const HostKey&) const = default;
};

enum class HostKeyVerdict {
  kKnown,
  kUnknown,  // no key of this host is known
  kChanged,  // others are known, this one is not
  kRevoked,  // an @revoked line holds it, whatever else is said of it
};

// What known_hosts files say of one host.
struct KnownHostKeys {
  std::vector<HostKey> keys;
  std::vector<HostKey> revoked;
  bool has_authority = false;  // a @cert-authority line speaks of the host

  HostKeyVerdict judge(std::string_view blob) const;
};

// Reads the text of a known_hosts file (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT") and adds what it says of the
// host called `name` to `answer`: plain and hashed names, lists, wildcards * and ?, negation by !, markers. A
// malformed line is skipped, and so is one with a marker that we do not know, as ssh does.
void read_known_hosts(std::string_view text, std::string_view name, KnownHostKeys& answer);

}  // namespace mcdtp
