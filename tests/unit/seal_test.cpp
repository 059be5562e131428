#include "common/core/seal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mcdtp {
namespace {

using Buffer = std::vector<std::uint8_t>;

constexpr PacketNumber kEpoch = PacketNumber{1} << kEpochBits;
constexpr std::uint64_t kAhead = Opener::kMostAhead;
constexpr Direction kUp = Direction::kClientToServer;
constexpr Direction kDown = Direction::kServerToClient;

std::array<std::uint8_t, 32> test_secret() {
  std::array<std::uint8_t, 32> secret;
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::uint8_t>(i);
  return secret;
}

Buffer plain_packet(const PacketHeader& header, std::string_view frames) {
  Buffer packet(kSealOverhead + frames.size());
  encode_header(header, packet);
  std::copy(frames.begin(), frames.end(), packet.begin() + kHeaderSize);
  return packet;
}

class SealTest : public testing::TestWithParam<Cipher> {
 protected:
  Buffer sealed(PacketNumber number, std::string_view frames, ChannelId channel = 5,
                Direction direction = kUp) {
    Sealer sealer(keys_, direction, channel);
    Buffer packet = plain_packet({1, channel, number}, frames);
    sealer.seal(packet);
    return packet;
  }

  // Opens a copy: a failure spoils the frames.
  static std::optional<std::string> opened(Opener& opener, Buffer packet) {
    const std::optional<MutableBytes> frames = opener.open(packet);
    if (!frames) return std::nullopt;
    return std::string(frames->begin(), frames->end());
  }

  SessionKeys keys_{test_secret(), GetParam()};
  Opener opener_{keys_, kUp, 5};
};

INSTANTIATE_TEST_SUITE_P(Ciphers, SealTest, testing::Values(Cipher::kAes128Gcm, Cipher::kChaCha20Poly1305),
                         [](const auto& cipher) {
                           return cipher.param == Cipher::kAes128Gcm ? "aes128gcm" : "chacha20poly1305";
                         });

TEST(PacketHeader, Layout) {
  Buffer packet(kHeaderSize);
  const PacketHeader header{0xa5, 0x0102, 0x030405060708090a};
  encode_header(header, packet);
  EXPECT_EQ(to_hex(packet), "a50102030405060708090a");
  EXPECT_EQ(decode_header(packet), header);
  packet.pop_back();
  EXPECT_FALSE(decode_header(packet));
}

// Computed by another program from RFC 5869: HMAC-SHA-256 over "mcdtp1" | cipher | direction | channel |
// epoch.
TEST(SessionKeys, KnownAnswers) {
  const PacketKey aes = SessionKeys(test_secret(), Cipher::kAes128Gcm).derive(kUp, 0, 0);
  EXPECT_EQ(to_hex(Bytes(aes.key).first(16)), "b089d98cbbe5bb5132d7688ff2486e08");
  EXPECT_EQ(to_hex(aes.iv), "614d87e68da805a53efdb976");
  const PacketKey chacha =
      SessionKeys(test_secret(), Cipher::kChaCha20Poly1305).derive(kDown, 0x0102, 0x030405);
  EXPECT_EQ(to_hex(chacha.key), "2bfcdcd7dfa5a744bb6f0ff1c3ce19cc1ed5f5589528d03face50ea7612353d4");
  EXPECT_EQ(to_hex(chacha.iv), "63f5533a43c78422f5c7cd8b");
}

// Whole packets, computed by another program.
TEST(Sealer, KnownAnswers) {
  const SessionKeys aes(test_secret(), Cipher::kAes128Gcm), chacha(test_secret(), Cipher::kChaCha20Poly1305);
  Buffer packet = plain_packet({1, 5, 0xc01234}, "frames");
  Sealer(aes, kUp, 5).seal(packet);
  EXPECT_EQ(to_hex(packet), "0100050000000000c01234865b9612da39584889e3fbcf728d998ee882064f72c2");
  packet = plain_packet({2, 0x0102, 0xc101400007}, "frames");
  Sealer(chacha, kDown, 0x0102).seal(packet);
  EXPECT_EQ(to_hex(packet), "020102000000c1014000073bfec191679193b123dda3d12a7c5c2b366401b02a7c");
}

TEST_P(SealTest, RoundTrip) {
  for (const std::size_t size : {0, 1, 15, 16, 17, 1173, 8873, 65535 - 27}) {
    const std::string frames(size, 'f');
    const Buffer packet = sealed(size, frames);
    EXPECT_EQ(decode_header(packet), (PacketHeader{1, 5, size}));
    if (size >= 15) {
      EXPECT_EQ(std::search(packet.begin(), packet.end(), frames.begin(), frames.end()), packet.end());
    }
    EXPECT_EQ(opened(opener_, packet), frames);
    EXPECT_EQ(opened(opener_, packet), frames) << "replays are not known here";
  }
}

TEST_P(SealTest, FramesStayWhereTheyWere) {
  Buffer packet = sealed(0, "frames");
  const std::optional<MutableBytes> frames = opener_.open(packet);
  ASSERT_TRUE(frames);
  EXPECT_EQ(frames->data(), packet.data() + kHeaderSize);
}

TEST_P(SealTest, EveryFlippedBitIsSeen) {
  const Buffer good = sealed(kEpoch, "some frames");
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    Buffer bad = good;
    bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(opened(opener_, bad)) << "bit " << bit;
  }
  EXPECT_EQ(opened(opener_, good), "some frames");
}

TEST_P(SealTest, EveryTruncationIsSeen) {
  const Buffer good = sealed(0, "some frames");
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(opened(opener_, Buffer(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))))
        << size;
  Buffer longer = good;
  longer.push_back(0);
  EXPECT_FALSE(opened(opener_, longer));
}

TEST_P(SealTest, OtherChannelDirectionCipherOrSecretDoesNotOpen) {
  EXPECT_FALSE(opened(opener_, sealed(0, "frames", 6)));
  EXPECT_FALSE(opened(opener_, sealed(0, "frames", 5, kDown)));
  Buffer renamed = sealed(0, "frames", 6);
  encode_header({1, 5, 0}, renamed);
  EXPECT_FALSE(opened(opener_, renamed));
  const bool is_aes = GetParam() == Cipher::kAes128Gcm;
  const SessionKeys other_cipher(test_secret(), is_aes ? Cipher::kChaCha20Poly1305 : Cipher::kAes128Gcm);
  Opener other_cipher_opener(other_cipher, kUp, 5);
  EXPECT_FALSE(opened(other_cipher_opener, sealed(0, "frames")));
  std::array<std::uint8_t, 32> secret = test_secret();
  secret[31] ^= 1;
  const SessionKeys other_secret(secret, GetParam());
  Opener other_secret_opener(other_secret, kUp, 5);
  EXPECT_FALSE(opened(other_secret_opener, sealed(0, "frames")));
}

TEST_P(SealTest, KeysDifferInEveryInput) {
  const auto hex = [&](Direction direction, ChannelId channel, std::uint64_t epoch) {
    const PacketKey key = keys_.derive(direction, channel, epoch);
    return to_hex(key.key) + to_hex(key.iv);
  };
  const std::string base = hex(kUp, 1, 1);
  EXPECT_EQ(base, hex(kUp, 1, 1));
  EXPECT_NE(base, hex(kDown, 1, 1));
  EXPECT_NE(base, hex(kUp, 2, 1));
  EXPECT_NE(base, hex(kUp, 1, 2));
}

TEST_P(SealTest, SealerCrossesEpochs) {
  Sealer sealer(keys_, kUp, 5);
  for (const PacketNumber number :
       {PacketNumber{0}, kEpoch - 1, kEpoch, kEpoch + 1, 2 * kEpoch - 1, 2 * kEpoch}) {
    Buffer packet = plain_packet({0, 5, number}, "frames");
    sealer.seal(packet);
    EXPECT_EQ(packet, [&] {
      Buffer alone = plain_packet({0, 5, number}, "frames");
      Sealer(keys_, kUp, 5).seal(alone);
      return alone;
    }());
    EXPECT_EQ(opened(opener_, packet), "frames") << number;
  }
}

TEST_P(SealTest, EpochWindowIsOneBehindAndManyAhead) {
  EXPECT_FALSE(opened(opener_, sealed((kAhead + 1) * kEpoch, "frames")));
  for (PacketNumber epoch = 1; epoch < 8; ++epoch) {
    ASSERT_TRUE(opened(opener_, sealed(epoch * kEpoch, "newest")));
    EXPECT_TRUE(opened(opener_, sealed(epoch * kEpoch - 1, "late")));
    EXPECT_TRUE(opened(opener_, sealed(epoch * kEpoch + 1, "newest again")));
    EXPECT_FALSE(opened(opener_, sealed((epoch + kAhead + 1) * kEpoch, "too new")));
    if (epoch >= 2) {
      EXPECT_FALSE(opened(opener_, sealed((epoch - 1) * kEpoch - 1, "too late")));
    }
  }
}

TEST_P(SealTest, AWayThatWasBlockedForManyEpochsOpensAgain) {
  ASSERT_TRUE(opened(opener_, sealed(7, "before")));
  EXPECT_EQ(opened(opener_, sealed(kAhead * kEpoch, "after")), "after");
  EXPECT_EQ(opened(opener_, sealed(kAhead * kEpoch + 1, "and on")), "and on");
  EXPECT_EQ(opened(opener_, sealed(kAhead * kEpoch - 1, "late")), "late");
  EXPECT_FALSE(opened(opener_, sealed(8, "too late")));
  EXPECT_EQ(opened(opener_, sealed(2 * kAhead * kEpoch, "once more")), "once more");
}

TEST_P(SealTest, LastEpoch) {
  Sealer sealer(keys_, kUp, 5);
  Buffer packet = plain_packet({0, 5, ~PacketNumber{0}}, "frames");
  sealer.seal(packet);
  EXPECT_FALSE(opened(opener_, packet));
}

TEST_P(SealTest, ForgeryMovesNoWindow) {
  ASSERT_TRUE(opened(opener_, sealed(kEpoch, "frames")));
  for (const PacketNumber number :
       {PacketNumber{0}, kEpoch, 2 * kEpoch, 3 * kEpoch, 4 * kEpoch, ~PacketNumber{0}}) {
    for (int round = 0; round < 3; ++round)
      EXPECT_FALSE(opened(opener_, plain_packet({0, 5, number}, "forged")));
  }
  EXPECT_FALSE(opened(opener_, sealed((kAhead + 2) * kEpoch, "still too new")));
  EXPECT_TRUE(opened(opener_, sealed(kEpoch - 1, "late")));
  EXPECT_TRUE(opened(opener_, sealed(kEpoch + 1, "now")));
  EXPECT_TRUE(opened(opener_, sealed(2 * kEpoch, "next")));
}

TEST_P(SealTest, LateEpochDoesNotMoveBack) {
  ASSERT_TRUE(opened(opener_, sealed(kEpoch, "frames")));
  ASSERT_TRUE(opened(opener_, sealed(2 * kEpoch, "frames")));
  ASSERT_TRUE(opened(opener_, sealed(kEpoch, "frames")));
  EXPECT_TRUE(opened(opener_, sealed(3 * kEpoch, "frames")));
  EXPECT_FALSE(opened(opener_, sealed(kEpoch, "frames")));
}

TEST_P(SealTest, NumberUsedTwiceIsOurBug) {
  Sealer sealer(keys_, kUp, 5);
  Buffer packet = plain_packet({0, 5, 7}, "frames");
  sealer.seal(packet);
  Buffer again = plain_packet({0, 5, 7}, "frames");
  EXPECT_DEATH(sealer.seal(again), "");
  Buffer other_channel = plain_packet({0, 6, 8}, "frames");
  EXPECT_DEATH(sealer.seal(other_channel), "");
  Buffer next = plain_packet({0, 5, 8}, "frames");
  sealer.seal(next);
  EXPECT_EQ(opened(opener_, next), "frames");
}

TEST(Cipher, NamesRoundTrip) {
  for (const Cipher cipher : {Cipher::kAes128Gcm, Cipher::kChaCha20Poly1305})
    EXPECT_EQ(parse_cipher(cipher_name(cipher)), cipher);
  EXPECT_FALSE(parse_cipher("aes"));
  EXPECT_TRUE(parse_cipher(cipher_name(preferred_cipher())));
}

}  // namespace
}  // namespace mcdtp
