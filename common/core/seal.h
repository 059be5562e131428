#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "common/core/bytes.h"
#include "common/core/cipher.h"
#include "common/core/packet_header.h"
#include "common/core/types.h"

struct evp_cipher_st;
struct evp_cipher_ctx_st;

namespace mcdtp {

// The values enter the key derivation.
enum class Direction : std::uint8_t { kClientToServer = 0, kServerToClient = 1 };

// The cipher that is faster on this processor.
Cipher preferred_cipher();

// One key seals at most this many packets (two to this power): both AEADs stay far from their bounds, RFC
// 9001 section 6.6.
inline constexpr int kEpochBits = 22;
constexpr std::uint64_t epoch_of(PacketNumber number) { return number >> kEpochBits; }

// What seals the packets of one channel, direction and epoch. Wiped at its end.
struct PacketKey {
  PacketKey() = default;
  PacketKey(const PacketKey&) = default;
  PacketKey& operator=(const PacketKey&) = default;
  ~PacketKey() {
    wipe(key);
    wipe(iv);
  }

  // An AES-128-GCM key is its first 16 bytes.
  std::array<std::uint8_t, 32> key{};
  std::array<std::uint8_t, 12> iv{};
};

// Derives all keys of a session from the secret of its greeting: it is uniformly random, and so is the
// pseudorandom key of RFC 5869 without its extract step. Not changed by use; wiped at its end.
class SessionKeys {
 public:
  SessionKeys(const std::array<std::uint8_t, 32>& secret, Cipher cipher);
  SessionKeys(const SessionKeys&) = delete;
  SessionKeys& operator=(const SessionKeys&) = delete;
  ~SessionKeys();

  PacketKey derive(Direction direction, ChannelId channel, std::uint64_t epoch) const;
  const evp_cipher_st* algorithm() const { return algorithm_; }

 private:
  const Cipher cipher_;
  std::array<std::uint8_t, 32> secret_;
  evp_cipher_st* algorithm_;
};

// A cipher context keyed for one epoch at a time. Nothing is allocated for a packet.
class EpochCipher {
 public:
  enum class Use : int { kOpen = 0, kSeal = 1 };

  EpochCipher();
  ~EpochCipher();
  EpochCipher(EpochCipher&& other) noexcept;
  EpochCipher& operator=(EpochCipher&&) = delete;

  // Does nothing when that epoch's key is there already.
  void set_epoch(const SessionKeys& keys, Direction direction, ChannelId channel, std::uint64_t epoch,
                 Use use);
  // Both work in place on header, text and tag. REQUIRES: the packet's epoch is set, and it has kSealOverhead
  // bytes.
  void seal(PacketNumber number, MutableBytes packet);
  // False: not authentic, and the text is spoilt.
  [[nodiscard]] bool open(PacketNumber number, MutableBytes packet);

 private:
  std::array<std::uint8_t, 12> nonce(PacketNumber number) const;

  std::unique_ptr<evp_cipher_ctx_st, void (*)(evp_cipher_ctx_st*)> context_;
  std::array<std::uint8_t, 12> iv_{};
  std::optional<std::uint64_t> epoch_;
};

// Seals what one end sends on one channel. REQUIRES: `keys` outlives it.
class Sealer {
 public:
  Sealer(const SessionKeys& keys, Direction direction, ChannelId channel)
      : keys_(&keys), direction_(direction), channel_(channel) {}

  // `packet` is the header, the frames and kTagSize spare bytes; it becomes what is sent.
  // REQUIRES: the header names this channel and a number larger than any sealed before.
  void seal(MutableBytes packet);

 private:
  const SessionKeys* keys_;
  Direction direction_;
  ChannelId channel_;
  std::optional<PacketNumber> largest_;
  EpochCipher cipher_;
};

// Opens what the other end sends on one channel. What is not authentic changes nothing but its own bytes.
// It does not know replays: the receipts do. REQUIRES: `keys` outlives it.
// Invariant: the three ciphers can hold the key of each acceptable epoch but those far ahead; epoch e has cipher e % 3.
class Opener {
 public:
  // A way may be blocked for days, while the peer goes on numbering what it sends there.
  static constexpr std::uint64_t kMostAhead = 1024;

  Opener(const SessionKeys& keys, Direction direction, ChannelId channel)
      : keys_(&keys), direction_(direction), channel_(channel) {}

  // The frames, where they stood in `packet`. Unset: too short, of another channel, more than one epoch
  // behind the newest opened or kMostAhead before it, or not authentic; then the packet's frames are spoilt, its header is
  // not.
  [[nodiscard]] std::optional<MutableBytes> open(MutableBytes packet);

 private:
  bool is_acceptable(std::uint64_t epoch) const;

  const SessionKeys* keys_;
  Direction direction_;
  ChannelId channel_;
  std::uint64_t newest_epoch_ = 0;
  std::array<EpochCipher, 3> ciphers_;
  EpochCipher far_ahead_;  // so that who forges such packets costs no key that is in use
};

}  // namespace mcdtp
