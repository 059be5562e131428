#include "client/libssh2_choice.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <tuple>

namespace mcdtp {
namespace {

using Version = std::tuple<int, int, int>;
constexpr Version kOldest = {1, 10, 0};  // what we have tried
constexpr Version kBroken = {1, 11, 0};  // sends data twice, and can be attacked by Terrapin
constexpr Version kRsaSha2 = {1, 11, 1};

std::optional<Version> parse_version(const std::string& text) {
  int major = 0, minor = 0, patch = 0;
  if (std::sscanf(text.c_str(), "%d.%d.%d", &major, &minor, &patch) != 3) return std::nullopt;
  return Version{major, minor, patch};
}

// What libssh2 cannot follow: names, paths and commands that are given, and flags that are on.
constexpr std::array kOnlySshFollows = {"proxyjump",      "proxycommand",      "certificatefile",
                                        "pkcs11provider", "knownhostscommand", "revokedhostkeys",
                                        "bindaddress",    "bindinterface",     "logverbose"};
constexpr std::array kOnlySshDoes = {"checkhostip",
                                     "verifyhostkeydns",
                                     "hostbasedauthentication",
                                     "gssapidelegatecredentials",
                                     "forwardagent",
                                     "forwardx11",
                                     "tunnel",
                                     "addkeystoagent",
                                     "visualhostkey"};

// RSA keys sign by several algorithms; SHA-1's, named as the key itself, is not among them.
std::string key_type_of_algorithm(const std::string& algorithm) {
  if (algorithm == "rsa-sha2-256" || algorithm == "rsa-sha2-512") return "ssh-rsa";
  return algorithm == "ssh-rsa" ? "" : algorithm;
}

std::optional<std::string> why_not_version(const std::string& text) {
  const auto version = parse_version(text);
  if (version && *version >= kOldest && *version != kBroken) return std::nullopt;
  return "libssh2 " + text + " is not fit for it";
}

std::optional<std::string> why_not_config(const SshConfig& config, const LocalFacts& facts) {
  const auto sets = [](const char* keyword) { return std::string("the configuration sets ") + keyword; };
  for (const char* keyword : kOnlySshFollows) {
    if (config.is_given(keyword)) return sets(keyword);
  }
  for (const char* keyword : kOnlySshDoes) {
    if (config.is_on(keyword)) return sets(keyword);
  }
  if (config.log_level() > LogLevel::kInfo && !facts.explains) return sets("loglevel");
  if (!config.is_on("pubkeyauthentication")) return "the configuration has no pubkeyauthentication";
  const auto preferred = config.list("preferredauthentications");
  if (!preferred.empty() && preferred.front() != "publickey")
    return "the configuration prefers " + preferred.front();
  if (facts.has_control_socket) return "there is a socket at controlpath";
  if (config.makes_master()) return "the configuration has ssh leave a master for those who come later";
  if (!facts.paths_are_clear) return "the configuration names a file in a way that only ssh resolves";
  if (!config.port() || config.host_name().empty()) return "ssh -G says no host name or no port";
  return std::nullopt;
}

// An empty list accepts all.
bool algorithms_accept(const std::vector<std::string>& algorithms, const std::string& type) {
  return algorithms.empty() ||
         std::any_of(algorithms.begin(), algorithms.end(),
                     [&](const std::string& name) { return key_type_of_algorithm(name) == type; });
}

std::optional<std::string> why_not_keys(const SshConfig& config, const LocalFacts& facts) {
  if (!facts.missing_identity.empty()) return "there is no key " + facts.missing_identity;
  for (const Identity& identity : facts.identities) {
    if (identity.has_certificate) return "there is a certificate for the key " + identity.path;
  }
  if (facts.agent_socket) return std::nullopt;  // which keys it holds is asked when the login begins
  const auto offers = key_offers(config, facts.identities, {}, facts.libssh2_version);
  if (offers.empty()) return "there is no agent and no key";
  return offers.front().obstacle.empty() ? std::nullopt : std::optional(offers.front().obstacle);
}

std::optional<std::string> why_not_host_key(const SshConfig& config, const KnownHostKeys& known,
                                            const std::string& version) {
  const std::string name = config.known_hosts_name();
  if (known.has_authority) return "a @cert-authority line speaks of " + name;
  if (known.keys.empty()) return "no host key of " + name + " is known";
  if (!host_key_algorithms(config, known, version).empty()) return std::nullopt;
  return "no host key known of " + name + " is of a type for libssh2";
}

}  // namespace

bool libssh2_supports_key(const std::string& type, const std::string& libssh2_version) {
  constexpr std::array<std::string_view, 4> kTypes = {"ssh-ed25519", "ecdsa-sha2-nistp256",
                                                      "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"};
  if (type == "ssh-rsa") return parse_version(libssh2_version) >= kRsaSha2;
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

std::vector<KeyOffer> key_offers(const SshConfig& config, const std::vector<Identity>& identities,
                                 const std::vector<std::string>& agent_blobs,
                                 const std::string& libssh2_version) {
  const auto accepted = config.list("pubkeyacceptedalgorithms");
  std::vector<KeyOffer> offers;
  for (const OfferedKey& key : keys_in_ssh_order(identities, agent_blobs, config.is_on("identitiesonly"))) {
    const std::string type = key_type(key.from_agent ? agent_blobs[key.index] : identities[key.index].blob);
    if (!type.empty() && !algorithms_accept(accepted, type)) continue;
    const std::string name = key.from_agent ? "a key of the agent" : "the key " + identities[key.index].path;
    std::string obstacle = key.from_agent ? "" : identities[key.index].obstacle;
    if (obstacle.empty() && !libssh2_supports_key(type, libssh2_version)) obstacle = "is of type " + type;
    offers.push_back({key, obstacle.empty() ? "" : name + " comes first, which " + obstacle});
  }
  return offers;
}

std::vector<std::string> host_key_algorithms(const SshConfig& config, const KnownHostKeys& known,
                                             const std::string& libssh2_version) {
  std::vector<std::string> names = config.list("hostkeyalgorithms");
  std::erase_if(names, [&](const std::string& name) {
    const std::string type = key_type_of_algorithm(name);
    const auto has_type = [&](const HostKey& key) { return key.type == type; };
    return !libssh2_supports_key(type, libssh2_version) ||
           std::none_of(known.keys.begin(), known.keys.end(), has_type);
  });
  return names;
}

std::optional<std::string> why_not_libssh2(const SshConfig& config, const KnownHostKeys& known,
                                           const LocalFacts& facts) {
  if (auto reason = why_not_version(facts.libssh2_version)) return reason;
  if (auto reason = why_not_config(config, facts)) return reason;
  if (auto reason = why_not_host_key(config, known, facts.libssh2_version)) return reason;
  return why_not_keys(config, facts);
}

}  // namespace mcdtp
