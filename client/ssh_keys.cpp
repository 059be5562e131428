#include "client/ssh_keys.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include "client/base64.h"
#include "common/core/bytes.h"

namespace mcdtp {
namespace {

constexpr std::string_view kOpenSshBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view kOpenSshEnd = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view kOpenSshMagic("openssh-key-v1\0", 15);
constexpr std::string_view kEcBegin = "-----BEGIN EC PRIVATE KEY-----";
constexpr std::size_t kMaxKeyFile = 64 * 1024;

// Takes a four-byte length and so many bytes off `data`.
std::optional<std::string> take_string(std::string_view& data) {
  if (data.size() < 4) return std::nullopt;
  std::size_t size = 0;
  for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(data[i]);
  if (size > data.size() - 4) return std::nullopt;
  std::string out(data.substr(4, size));
  data.remove_prefix(4 + size);
  return out;
}

// Of a text that may hold a private key nothing is left in memory.
class WipedAtEnd {
 public:
  explicit WipedAtEnd(std::string& text) : text_(text) {}
  WipedAtEnd(const WipedAtEnd&) = delete;
  WipedAtEnd& operator=(const WipedAtEnd&) = delete;
  ~WipedAtEnd() { wipe({reinterpret_cast<std::uint8_t*>(text_.data()), text_.size()}); }

 private:
  std::string& text_;
};

// Through no buffer but the text's own.
std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file;
  file.rdbuf()->pubsetbuf(nullptr, 0);
  file.open(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(kMaxKeyFile, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

PrivateKeyText read_openssh_key(std::string_view armoured) {
  std::string base64(armoured);
  const WipedAtEnd wiped(base64);
  std::erase_if(base64, [](char c) { return c == '\n' || c == '\r'; });
  std::string decoded = decode_base64(base64).value_or("");
  const WipedAtEnd decoded_wiped(decoded);
  std::string_view data = decoded;
  if (!data.starts_with(kOpenSshMagic)) return {"", "is damaged"};
  data.remove_prefix(kOpenSshMagic.size());
  const auto cipher = take_string(data);
  const auto derivation = take_string(data);
  const auto derivation_options = take_string(data);
  if (!derivation_options || data.size() < 4) return {"", "is damaged"};
  data.remove_prefix(4);  // how many keys: ssh knows of one alone
  const auto blob = take_string(data);
  if (!blob) return {"", "is damaged"};
  return {*blob, *cipher == "none" ? "" : "is encrypted"};
}

// ssh refuses a private key of ours that others may read.
bool is_open_to_others(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return true;
  return file.st_uid == getuid() && (file.st_mode & 077) != 0;
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

}  // namespace

std::string key_type(std::string_view blob) { return take_string(blob).value_or(""); }

PrivateKeyText read_private_key_text(std::string_view text) {
  if (const auto begin = text.find(kOpenSshBegin); begin != std::string_view::npos) {
    text.remove_prefix(begin + kOpenSshBegin.size());
    return read_openssh_key(text.substr(0, text.find(kOpenSshEnd)));
  }
  if (text.find("ENCRYPTED") != std::string_view::npos) return {"", "is encrypted"};
  if (text.find(kEcBegin) != std::string_view::npos) return {};
  return {"", "has a form that libssh2 may not read"};
}

std::string read_public_key_text(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string type, base64;
  words >> type >> base64;
  const auto blob = decode_base64(base64);
  return blob && !type.empty() && key_type(*blob) == type ? *blob : "";
}

std::optional<Identity> read_identity(const std::string& path) {
  auto file = read_file(path);
  const auto wiped = file ? std::make_unique<WipedAtEnd>(*file) : nullptr;
  const auto beside = read_file(path + ".pub");
  if (!file && !beside && !exists(path)) return std::nullopt;
  Identity identity{path, "", "", exists(path + "-cert.pub")};
  const PrivateKeyText key = file ? read_private_key_text(*file) : PrivateKeyText{"", "cannot be read"};
  identity.blob = key.blob;
  if (identity.blob.empty() && file) identity.blob = read_public_key_text(*file);
  if (identity.blob.empty() && beside) identity.blob = read_public_key_text(*beside);
  identity.obstacle = key.obstacle;
  if (identity.blob.empty()) identity.obstacle = "does not say which key it is";
  if (identity.obstacle.empty() && is_open_to_others(path)) identity.obstacle = "is open to others";
  return identity;
}

std::vector<OfferedKey> keys_in_ssh_order(const std::vector<Identity>& identities,
                                          const std::vector<std::string>& agent_blobs, bool identities_only) {
  std::vector<OfferedKey> named, others, files;
  std::vector<bool> in_agent(identities.size());
  for (std::size_t i = 0; i < agent_blobs.size(); ++i) {
    const auto match = std::find_if(identities.begin(), identities.end(), [&](const Identity& identity) {
      return identity.blob == agent_blobs[i];
    });
    if (match != identities.end()) in_agent[static_cast<std::size_t>(match - identities.begin())] = true;
    (match != identities.end() ? named : others).push_back({true, i});
  }
  for (std::size_t i = 0; i < identities.size(); ++i) {
    if (!in_agent[i]) files.push_back({false, i});
  }
  if (!identities_only) named.insert(named.end(), others.begin(), others.end());
  named.insert(named.end(), files.begin(), files.end());
  return named;
}

}  // namespace mcdtp
