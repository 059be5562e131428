#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcdtp {

// One IdentityFile as it stands on disk.
struct Identity {
  std::string path;
  std::string blob;  // its public key as SSH sends it; empty where it cannot be told without the passphrase
  std::string obstacle;          // why the private key cannot be used without a prompt; empty: it can
  bool has_certificate = false;  // ssh finds one beside it, and offers that first
};

// Nothing where there is neither a key nor its public half, as for most of ssh's default names.
std::optional<Identity> read_identity(const std::string& path);

// The type that a key begins with, empty where it has none.
std::string key_type(std::string_view blob);

// What a private key file says of itself without its passphrase; see PROTOCOL.key of OpenSSH.
struct PrivateKeyText {
  std::string blob;
  std::string obstacle;
};
PrivateKeyText read_private_key_text(std::string_view text);

// The blob of a line "type base64 comment", empty where it is none.
std::string read_public_key_text(std::string_view text);

struct OfferedKey {
  bool from_agent = false;
  std::size_t index = 0;  // of the agent's keys, or else of the identities
};

// The keys that ssh would offer, in its order: the agent's that an IdentityFile names, the agent's others
// unless `identities_only`, then those that only files hold.
std::vector<OfferedKey> keys_in_ssh_order(const std::vector<Identity>& identities,
                                          const std::vector<std::string>& agent_blobs, bool identities_only);

}  // namespace mcdtp
