#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mcdtp {

// How packets are sealed. The values enter the key derivation and so never change.
enum class Cipher : std::uint8_t { kAes128Gcm = 1, kChaCha20Poly1305 = 2 };

constexpr std::string_view cipher_name(Cipher cipher) {
  return cipher == Cipher::kAes128Gcm ? "aes-128-gcm" : "chacha20-poly1305";
}

constexpr std::optional<Cipher> parse_cipher(std::string_view name) {
  for (const Cipher cipher : {Cipher::kAes128Gcm, Cipher::kChaCha20Poly1305})
    if (name == cipher_name(cipher)) return cipher;
  return std::nullopt;
}

}  // namespace mcdtp
