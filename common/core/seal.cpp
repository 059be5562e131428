#include "common/core/seal.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>

#include <algorithm>
#include <string_view>

#include "common/core/check.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace mcdtp {
namespace {

constexpr std::string_view kLabel = "mcdtp1";
constexpr std::size_t kInfoSize = kLabel.size() + 1 + 1 + 2 + 8;
constexpr std::size_t kHashSize = 32;

bool has_aes_instructions() {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#elif defined(__aarch64__)
  return (getauxval(AT_HWCAP) & HWCAP_AES) != 0 && (getauxval(AT_HWCAP) & HWCAP_PMULL) != 0;
#else
  return false;
#endif
}

void hmac_sha256(Bytes key, Bytes data, std::uint8_t* out) {
  unsigned size = kHashSize;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data.data(), data.size(), out, &size));
}

// HKDF-Expand of RFC 5869 section 2.3, for at most two blocks.
void hkdf_expand(Bytes secret, Bytes info, MutableBytes out) {
  std::array<std::uint8_t, kHashSize + kInfoSize + 1> block;
  std::array<std::uint8_t, 2 * kHashSize> blocks;
  CHECK(info.size() == kInfoSize && out.size() <= blocks.size());
  std::copy(info.begin(), info.end(), block.begin() + kHashSize);
  block.back() = 1;
  hmac_sha256(secret, Bytes(block).subspan(kHashSize), blocks.data());
  std::copy_n(blocks.begin(), kHashSize, block.begin());
  block.back() = 2;
  hmac_sha256(secret, block, blocks.data() + kHashSize);
  std::copy_n(blocks.begin(), out.size(), out.begin());
  wipe(block);
  wipe(blocks);
}

int size_of(Bytes data) { return static_cast<int>(data.size()); }

MutableBytes text_of(MutableBytes packet) {
  return packet.subspan(kHeaderSize, packet.size() - kSealOverhead);
}

// Where OpenSSL reads or writes the tag.
std::array<OSSL_PARAM, 2> tag_of(MutableBytes packet) {
  std::uint8_t* tag = packet.data() + packet.size() - kTagSize;
  return {OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, kTagSize),
          OSSL_PARAM_construct_end()};
}

EVP_CIPHER* fetch_cipher(Cipher cipher) {
#ifdef MCDTP_STATIC
  // The configuration of the host may name modules, which are for its own libcrypto.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
#endif
  const char* name = cipher == Cipher::kAes128Gcm ? "AES-128-GCM" : "ChaCha20-Poly1305";
  return EVP_CIPHER_fetch(nullptr, name, nullptr);
}

}  // namespace

Cipher preferred_cipher() { return has_aes_instructions() ? Cipher::kAes128Gcm : Cipher::kChaCha20Poly1305; }

SessionKeys::SessionKeys(const std::array<std::uint8_t, 32>& secret, Cipher cipher)
    : cipher_(cipher), secret_(secret), algorithm_(fetch_cipher(cipher)) {
  CHECK(algorithm_);
}

SessionKeys::~SessionKeys() {
  wipe(secret_);
  EVP_CIPHER_free(algorithm_);
}

PacketKey SessionKeys::derive(Direction direction, ChannelId channel, std::uint64_t epoch) const {
  std::array<std::uint8_t, kInfoSize> info;
  Writer writer(info);
  writer.bytes(as_bytes(kLabel));
  writer.u8(static_cast<std::uint8_t>(cipher_));
  writer.u8(static_cast<std::uint8_t>(direction));
  writer.u16(channel);
  writer.u64(epoch);
  std::array<std::uint8_t, 32 + 12> material;
  const std::size_t key_size = cipher_ == Cipher::kAes128Gcm ? 16 : 32;
  PacketKey result;
  hkdf_expand(secret_, info, MutableBytes(material).first(key_size + result.iv.size()));
  std::copy_n(material.begin(), key_size, result.key.begin());
  std::copy_n(material.begin() + static_cast<std::ptrdiff_t>(key_size), result.iv.size(), result.iv.begin());
  wipe(material);
  return result;
}

EpochCipher::EpochCipher() : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) { CHECK(context_); }

EpochCipher::~EpochCipher() { wipe(iv_); }

EpochCipher::EpochCipher(EpochCipher&& other) noexcept = default;

void EpochCipher::set_epoch(const SessionKeys& keys, Direction direction, ChannelId channel,
                            std::uint64_t epoch, Use use) {
  if (epoch_ == epoch) return;
  const PacketKey key = keys.derive(direction, channel, epoch);
  CHECK(EVP_CipherInit_ex2(context_.get(), keys.algorithm(), key.key.data(), key.iv.data(),
                           static_cast<int>(use), nullptr));
  iv_ = key.iv;
  epoch_ = epoch;
}

// The nonce is the IV xor the packet number, as in RFC 9001 section 5.3.
std::array<std::uint8_t, 12> EpochCipher::nonce(PacketNumber number) const {
  std::array<std::uint8_t, 12> nonce = iv_;
  for (std::size_t i = nonce.size(); number != 0; number >>= 8)
    nonce[--i] ^= static_cast<std::uint8_t>(number);
  return nonce;
}

// Parameters and not EVP_CIPHER_CTX_ctrl(), which takes some 20 ns more for each packet.
void EpochCipher::seal(PacketNumber number, MutableBytes packet) {
  EVP_CIPHER_CTX* context = context_.get();
  const MutableBytes text = text_of(packet);
  int size = 0;
  CHECK(EVP_EncryptInit_ex2(context, nullptr, nullptr, nonce(number).data(), nullptr));
  CHECK(EVP_EncryptUpdate(context, nullptr, &size, packet.data(), kHeaderSize));
  CHECK(EVP_EncryptUpdate(context, text.data(), &size, text.data(), size_of(text)) && size == size_of(text));
  CHECK(EVP_EncryptFinal_ex(context, text.data() + text.size(), &size) && size == 0);
  std::array<OSSL_PARAM, 2> tag = tag_of(packet);
  CHECK(EVP_CIPHER_CTX_get_params(context, tag.data()));
}

bool EpochCipher::open(PacketNumber number, MutableBytes packet) {
  EVP_CIPHER_CTX* context = context_.get();
  const MutableBytes text = text_of(packet);
  int size = 0;
  const std::array<OSSL_PARAM, 2> tag = tag_of(packet);
  CHECK(EVP_DecryptInit_ex2(context, nullptr, nullptr, nonce(number).data(), tag.data()));
  CHECK(EVP_DecryptUpdate(context, nullptr, &size, packet.data(), kHeaderSize));
  CHECK(EVP_DecryptUpdate(context, text.data(), &size, text.data(), size_of(text)) && size == size_of(text));
  return EVP_DecryptFinal_ex(context, text.data() + text.size(), &size) > 0;
}

void Sealer::seal(MutableBytes packet) {
  const std::optional<PacketHeader> header = decode_header(packet);
  CHECK(header && packet.size() >= kSealOverhead && header->channel == channel_);
  CHECK(!largest_ || header->number > *largest_);
  largest_ = header->number;
  cipher_.set_epoch(*keys_, direction_, channel_, epoch_of(header->number), EpochCipher::Use::kSeal);
  cipher_.seal(header->number, packet);
}

std::optional<MutableBytes> Opener::open(MutableBytes packet) {
  const std::optional<PacketHeader> header = decode_header(packet);
  if (!header || packet.size() < kSealOverhead || header->channel != channel_) return std::nullopt;
  const std::uint64_t epoch = epoch_of(header->number);
  if (!is_acceptable(epoch)) return std::nullopt;
  EpochCipher& cipher = epoch <= newest_epoch_ + 1 ? ciphers_[epoch % ciphers_.size()] : far_ahead_;
  cipher.set_epoch(*keys_, direction_, channel_, epoch, EpochCipher::Use::kOpen);
  if (!cipher.open(header->number, packet)) return std::nullopt;
  newest_epoch_ = std::max(newest_epoch_, epoch);
  return text_of(packet);
}

bool Opener::is_acceptable(std::uint64_t epoch) const {
  return epoch <= newest_epoch_ + kMostAhead && epoch + 1 >= newest_epoch_;
}

}  // namespace mcdtp
