#include "common/core/sha256.h"

#include <openssl/sha.h>

#include <array>

namespace mcdtp {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) (text += kDigits[byte >> 4]) += kDigits[byte & 15];
  return text;
}

}  // namespace mcdtp
