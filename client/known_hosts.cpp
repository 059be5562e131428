#include "client/known_hosts.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "client/base64.h"
#include "client/host_pattern.h"

namespace mcdtp {
namespace {

constexpr std::uint16_t kSshPort = 22;
constexpr std::string_view kHashMark = "|1|";
constexpr std::size_t kSha1Size = 20;
constexpr std::string_view kBlanks = " \t\r";

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Takes what stands before `separator`, and the separator, off `text`.
std::string_view take_until(std::string_view& text, char separator) {
  const auto end = text.find(separator);
  const auto part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const auto word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

// A negated pattern that matches speaks against the whole line.
bool matches_list(std::string_view name, std::string_view patterns) {
  bool found = false;
  while (!patterns.empty()) {
    std::string_view pattern = take_until(patterns, ',');
    const bool negated = pattern.starts_with('!');
    if (negated) pattern.remove_prefix(1);
    if (!matches_pattern(name, pattern)) continue;
    if (negated) return false;
    found = true;
  }
  return found;
}

// "|1|salt|hash": the hash is HMAC-SHA1 of the name with the salt as its key.
bool matches_hash(std::string_view name, std::string_view field) {
  field.remove_prefix(kHashMark.size());
  const auto salt = decode_base64(take_until(field, '|'));
  const auto hash = decode_base64(field);
  if (!salt || !hash || salt->size() != kSha1Size || hash->size() != kSha1Size) return false;
  std::array<unsigned char, kSha1Size> computed{};
  unsigned size = 0;
  return HMAC(EVP_sha1(), salt->data(), static_cast<int>(salt->size()),
              reinterpret_cast<const unsigned char*>(name.data()), name.size(), computed.data(), &size) &&
         size == kSha1Size &&
         std::equal(computed.begin(), computed.end(), hash->begin(),
                    [](auto left, char right) { return left == static_cast<unsigned char>(right); });
}

bool matches_field(std::string_view name, std::string_view field) {
  return field.starts_with(kHashMark) ? matches_hash(name, field) : matches_list(name, field);
}

// A key's first field is its type, written as a four-byte length and the text.
bool blob_has_type(std::string_view blob, std::string_view type) {
  const std::string length = {0, 0, static_cast<char>(type.size() >> 8), static_cast<char>(type.size())};
  return blob.starts_with(length + std::string(type)) && blob.size() > length.size() + type.size();
}

std::optional<HostKey> parse_key(std::string_view& line) {
  HostKey key;
  key.type = take_word(line);
  auto blob = decode_base64(take_word(line));
  if (key.type.empty() || !blob || !blob_has_type(*blob, key.type)) return std::nullopt;
  key.blob = std::move(*blob);
  return key;
}

void read_line(std::string_view line, std::string_view name, KnownHostKeys& answer) {
  std::string_view field = take_word(line);
  std::string_view marker;
  if (field.starts_with('@')) {
    marker = field;
    field = take_word(line);
  }
  if (field.empty() || field.starts_with('#') || !matches_field(name, field)) return;
  // Even one whose key we cannot read is a word about the host.
  if (marker == "@cert-authority") answer.has_authority = true;
  auto key = parse_key(line);
  if (!key) return;
  if (marker.empty()) answer.keys.push_back(std::move(*key));
  if (marker == "@revoked") answer.revoked.push_back(std::move(*key));
}

bool holds(const std::vector<HostKey>& keys, std::string_view blob) {
  return std::any_of(keys.begin(), keys.end(), [&](const HostKey& key) { return key.blob == blob; });
}

}  // namespace

std::string known_hosts_name(std::string_view host, std::uint16_t port) {
  std::string name(host);
  std::transform(name.begin(), name.end(), name.begin(), lower);
  return port == kSshPort ? name : "[" + name + "]:" + std::to_string(port);
}

HostKeyVerdict KnownHostKeys::judge(std::string_view blob) const {
  if (holds(revoked, blob)) return HostKeyVerdict::kRevoked;
  if (holds(keys, blob)) return HostKeyVerdict::kKnown;
  return keys.empty() ? HostKeyVerdict::kUnknown : HostKeyVerdict::kChanged;
}

void read_known_hosts(std::string_view text, std::string_view name, KnownHostKeys& answer) {
  while (!text.empty()) read_line(take_until(text, '\n'), name, answer);
}

}  // namespace mcdtp
