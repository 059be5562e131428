#include "client/known_hosts.h"

#include <gtest/gtest.h>

#include "client/base64.h"

namespace mcdtp {
namespace {

// Two keys, and the first as `ssh-keygen -H` has hidden its host's name.
const std::string kKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBg+QbSBuVll7IqO9k0d9u1u72s2Z54oX7Vru0u68UDP";
const std::string kOther = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIELnciOcDv2RAs5n0N9vuGzmPi4/eVpKGCuabNCy4mdB";
const std::string kHashedName =
    "|1|o5ymGhtW2BOhkxB4rmbJDNvLRMI=|fm4HoedRISGCMyKueMuBpgc+q4g=";  // example.com
const std::string kHashedNameAndPort =
    "|1|amY7g6//92D7kBRhZqeY4RXdTQg=|/hFRU5Ptu5LZHw41VQYYDNO/g24=";  // and 2222

KnownHostKeys read(const std::string& text, const std::string& name = "example.com") {
  KnownHostKeys answer;
  read_known_hosts(text, name, answer);
  return answer;
}

std::string blob(const std::string& key) { return decode_base64(key.substr(key.find(' ') + 1)).value(); }

HostKeyVerdict verdict(const std::string& text, const std::string& name = "example.com") {
  return read(text, name).judge(blob(kKey));
}

TEST(KnownHosts, NameOfHost) {
  EXPECT_EQ(known_hosts_name("Example.COM", 22), "example.com");
  EXPECT_EQ(known_hosts_name("Example.COM", 2222), "[example.com]:2222");
  EXPECT_EQ(known_hosts_name("::1", 2222), "[::1]:2222");
}

TEST(KnownHosts, PlainName) {
  EXPECT_EQ(verdict("example.com " + kKey), HostKeyVerdict::kKnown);
  EXPECT_EQ(verdict("EXAMPLE.com\t" + kKey + " a comment\r\n"), HostKeyVerdict::kKnown);
  EXPECT_EQ(verdict("  a,192.0.2.1,example.com " + kKey), HostKeyVerdict::kKnown);
  EXPECT_EQ(verdict("xample.com,example.co " + kKey), HostKeyVerdict::kUnknown);
  EXPECT_EQ(verdict(""), HostKeyVerdict::kUnknown);
  EXPECT_EQ(read("example.com " + kKey).keys, (std::vector<HostKey>{{"ssh-ed25519", blob(kKey)}}));
}

TEST(KnownHosts, PortBelongsToTheName) {
  const std::string line = "[example.com]:2222 " + kKey;
  EXPECT_EQ(verdict(line, "[example.com]:2222"), HostKeyVerdict::kKnown);
  EXPECT_EQ(verdict(line), HostKeyVerdict::kUnknown);
  EXPECT_EQ(verdict("example.com " + kKey, "[example.com]:2222"), HostKeyVerdict::kUnknown);
}

TEST(KnownHosts, HashedName) {
  EXPECT_EQ(verdict(kHashedName + " " + kKey), HostKeyVerdict::kKnown);
  EXPECT_EQ(verdict(kHashedName + " " + kKey, "example.org"), HostKeyVerdict::kUnknown);
  EXPECT_EQ(verdict(kHashedNameAndPort + " " + kKey, "[example.com]:2222"), HostKeyVerdict::kKnown);
  EXPECT_EQ(verdict(kHashedNameAndPort + " " + kKey), HostKeyVerdict::kUnknown);
  EXPECT_EQ(verdict(kHashedName.substr(0, 40) + " " + kKey), HostKeyVerdict::kUnknown);
}

TEST(KnownHosts, Wildcards) {
  for (const char* pattern : {"*", "*.com", "EX*.c?m", "example.???", "e*e*.*m", "**", "*example.com*"}) {
    EXPECT_EQ(verdict(std::string(pattern) + " " + kKey), HostKeyVerdict::kKnown) << pattern;
  }
  for (const char* pattern : {"?", "*.org", "example.????", "e*e*e*.com", "*x", ""}) {
    EXPECT_EQ(verdict(std::string(pattern) + " " + kKey), HostKeyVerdict::kUnknown) << pattern;
  }
  EXPECT_EQ(verdict("[*]:2222 " + kKey, "[example.com]:2222"), HostKeyVerdict::kKnown);
}

TEST(KnownHosts, ManyStarsTakeNoTime) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_EQ(verdict(pattern + "b " + kKey, std::string(5000, 'a')), HostKeyVerdict::kUnknown);
}

TEST(KnownHosts, NegationUndoesTheLine) {
  EXPECT_EQ(verdict("*.com,!example.com " + kKey), HostKeyVerdict::kUnknown);
  EXPECT_EQ(verdict("!example.com,*.com " + kKey), HostKeyVerdict::kUnknown);
  EXPECT_EQ(verdict("*.com,!other.com " + kKey), HostKeyVerdict::kKnown);
  EXPECT_EQ(verdict("!other.com " + kKey), HostKeyVerdict::kUnknown);
}

TEST(KnownHosts, ChangedKey) {
  EXPECT_EQ(verdict("example.com " + kOther), HostKeyVerdict::kChanged);
  EXPECT_EQ(verdict("example.com " + kOther + "\nexample.com " + kKey), HostKeyVerdict::kKnown);
}

TEST(KnownHosts, RevokedKey) {
  EXPECT_EQ(verdict("example.com " + kKey + "\n@revoked * " + kKey), HostKeyVerdict::kRevoked);
  EXPECT_EQ(verdict("@revoked\texample.com " + kKey + "\nexample.com " + kKey), HostKeyVerdict::kRevoked);
  EXPECT_EQ(verdict("@revoked " + kHashedName + " " + kKey), HostKeyVerdict::kRevoked);
  EXPECT_EQ(verdict("example.com " + kKey + "\n@revoked * " + kOther), HostKeyVerdict::kKnown);
  EXPECT_EQ(verdict("example.com " + kKey + "\n@revoked other.com " + kKey), HostKeyVerdict::kKnown);
}

TEST(KnownHosts, Authority) {
  EXPECT_TRUE(read("@cert-authority *.com " + kKey).has_authority);
  EXPECT_TRUE(read("@cert-authority *.com garbage").has_authority);
  EXPECT_FALSE(read("@cert-authority *.org " + kKey).has_authority);
  EXPECT_EQ(verdict("@cert-authority * " + kKey), HostKeyVerdict::kUnknown);
}

TEST(KnownHosts, MalformedLinesAreSkipped) {
  const std::vector<std::string> bad = {"# example.com " + kKey,
                                        "example.com",
                                        "example.com ssh-ed25519",
                                        "example.com ssh-ed25519 AAAA!",
                                        "example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5",
                                        "example.com ecdsa-sha2-nistp256 " + kKey.substr(12),
                                        "@unknown example.com " + kKey,
                                        "@ example.com " + kKey,
                                        "@revoked",
                                        "|1||  " + kKey,
                                        "|2|a|b " + kKey,
                                        std::string("\0\n\xff\n", 4)};
  for (const std::string& line : bad) {
    EXPECT_EQ(verdict(line), HostKeyVerdict::kUnknown) << line;
    EXPECT_EQ(verdict(line + "\n\nexample.com " + kKey), HostKeyVerdict::kKnown) << line;
  }
}

TEST(Base64, Decodes) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("Zg=="), "f");
  EXPECT_EQ(decode_base64("Zm8="), "fo");
  EXPECT_EQ(decode_base64("Zm9v+/+/"), "foo\xfb\xff\xbf");
  for (const char* bad : {"Z", "Zg", "Zg=", "Z===", "====", "Zm 8", "Zm=8", "Zm9v\n"}) {
    EXPECT_FALSE(decode_base64(bad)) << bad;
  }
}

}  // namespace
}  // namespace mcdtp
