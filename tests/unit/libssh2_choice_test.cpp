#include "client/libssh2_choice.h"

#include <gtest/gtest.h>

#include "client/base64.h"

namespace mcdtp {
namespace {

// A key as SSH sends it, told from others of its type by `body`.
std::string blob(const std::string& type, const std::string& body) {
  return std::string({0, 0, 0, static_cast<char>(type.size())}) + type + body;
}

const std::string kEd25519 = blob("ssh-ed25519", "one");
const std::string kEcdsa = blob("ecdsa-sha2-nistp256", "two");
const std::string kRsa = blob("ssh-rsa", "three");

// All is well; each test spoils one thing.
class Libssh2Choice : public testing::Test {
 protected:
  std::string why_not() {
    return why_not_libssh2(SshConfig(config_ + more_), known_, facts_).value_or("nothing");
  }
  std::string why_not(const std::string& lines) {
    more_ = lines;
    return why_not();
  }
  std::vector<std::string> obstacles(const std::vector<std::string>& agent_blobs) {
    std::vector<std::string> out;
    for (const auto& offer :
         key_offers(SshConfig(more_ + config_), facts_.identities, agent_blobs, version_)) {
      out.push_back((offer.key.from_agent ? "agent " : "file ") + std::to_string(offer.key.index) +
                    (offer.obstacle.empty() ? "" : " no"));
    }
    return out;
  }

  const std::string version_ = "1.10.0";
  std::string config_ =
      "hostname far\nport 22\nuser bob\npubkeyauthentication true\nproxyjump none\ncheckhostip no\n"
      "addkeystoagent false\nidentitiesonly no\nhostkeyalgorithms "
      "rsa-sha2-512,ssh-ed25519,ecdsa-sha2-nistp256\n"
      "pubkeyacceptedalgorithms ssh-ed25519,ecdsa-sha2-nistp256,rsa-sha2-256\n";
  std::string more_;
  KnownHostKeys known_{{{"ssh-ed25519", kEd25519}}, {}, false};
  LocalFacts facts_{version_, false, std::nullopt, {{"/key", kEd25519, "", false}}, true, "", false};
};

TEST_F(Libssh2Choice, NothingSpeaksAgainstIt) { EXPECT_EQ(why_not(), "nothing"); }

TEST_F(Libssh2Choice, Versions) {
  for (const char* bad : {"1.11.0", "1.9.0", "", "new"}) {
    facts_.libssh2_version = bad;
    EXPECT_NE(why_not().find("not fit"), std::string::npos) << bad;
  }
  for (const char* good : {"1.10.0", "1.11.1", "1.11.2_DEV", "2.0.0"}) {
    facts_.libssh2_version = good;
    EXPECT_EQ(why_not(), "nothing") << good;
  }
}

TEST_F(Libssh2Choice, Configuration) {
  more_ = "certificatefile /a\n";
  EXPECT_EQ(why_not(), "the configuration sets certificatefile");
  for (const char* line :
       {"proxycommand nc %h %p", "proxycommand false", "bindaddress 0", "revokedhostkeys no",
        "pkcs11provider /p.so", "knownhostscommand /bin/k", "revokedhostkeys /r", "bindaddress ::1",
        "hostbasedauthentication yes", "gssapidelegatecredentials yes", "forwardagent yes", "forwardx11 yes",
        "verifyhostkeydns true"}) {
    EXPECT_NE(why_not(line).find("the configuration sets"), std::string::npos) << line;
  }
  EXPECT_EQ(why_not("permitlocalcommand yes"), "nothing");
  EXPECT_EQ(why_not("preferredauthentications publickey,password"), "nothing");
  EXPECT_EQ(why_not("preferredauthentications gssapi-with-mic"), "the configuration prefers gssapi-with-mic");
  config_.replace(config_.find("pubkeyauthentication true"), 25, "pubkeyauthentication no");
  EXPECT_EQ(why_not(""), "the configuration has no pubkeyauthentication");
}

TEST_F(Libssh2Choice, VariablesTravelInOurProtocol) {
  EXPECT_EQ(why_not("sendenv LC_*\nsendenv TO*\nsetenv A=b"), "nothing");
}

TEST_F(Libssh2Choice, LocalFacts) {
  facts_.has_control_socket = true;
  EXPECT_EQ(why_not(), "there is a socket at controlpath");
  facts_.has_control_socket = false;
  const std::string master = "controlmaster auto\ncontrolpath /home/a/.ssh/%C\ncontrolpersist ";
  EXPECT_EQ(why_not(master + "60"), "the configuration has ssh leave a master for those who come later");
  EXPECT_EQ(why_not(master + "no"), "nothing");
  facts_.paths_are_clear = false;
  EXPECT_NE(why_not(), "nothing");
}

TEST_F(Libssh2Choice, HostKeys) {
  known_.has_authority = true;
  EXPECT_EQ(why_not(), "a @cert-authority line speaks of far");
  known_ = {{{"ssh-rsa", kRsa}}, {}, false};
  EXPECT_EQ(why_not(), "no host key known of far is of a type for libssh2");
  facts_.libssh2_version = "1.11.1";
  EXPECT_EQ(why_not(), "nothing");
  known_.keys.clear();
  EXPECT_EQ(why_not(), "no host key of far is known");
}

TEST_F(Libssh2Choice, HostKeyAlgorithmsAreThoseKnown) {
  const SshConfig config(config_);
  known_.keys = {{"ecdsa-sha2-nistp256", kEcdsa}, {"ssh-rsa", kRsa}, {"ssh-ed25519", kEd25519}};
  EXPECT_EQ(host_key_algorithms(config, known_, "1.10.0"),
            (std::vector<std::string>{"ssh-ed25519", "ecdsa-sha2-nistp256"}));
  known_.keys.pop_back();
  EXPECT_EQ(host_key_algorithms(config, known_, "1.11.1"),
            (std::vector<std::string>{"rsa-sha2-512", "ecdsa-sha2-nistp256"}));
}

TEST_F(Libssh2Choice, Keys) {
  facts_.identities.clear();
  EXPECT_EQ(why_not(), "there is no agent and no key");
  facts_.agent_socket = "/agent";
  EXPECT_EQ(why_not(), "nothing");
  facts_.agent_socket.reset();
  facts_.identities = {{"/key", kEd25519, "is encrypted", false}};
  EXPECT_EQ(why_not(), "the key /key comes first, which is encrypted");
  facts_.identities = {{"/key", kEd25519, "", true}};
  EXPECT_EQ(why_not(), "there is a certificate for the key /key");
  facts_.identities = {{"/rsa", kRsa, "", false}, {"/key", kEd25519, "", false}};
  EXPECT_EQ(why_not(), "the key /rsa comes first, which is of type ssh-rsa");
  facts_.identities = {{"/key", kEd25519, "", false}};
  facts_.missing_identity = "/none";
  EXPECT_EQ(why_not(), "there is no key /none");
}

TEST_F(Libssh2Choice, KeysComeInTheOrderOfSsh) {
  facts_.identities = {{"/a", kEd25519, "", false}, {"/b", kEcdsa, "is encrypted", false}};
  using Want = std::vector<std::string>;
  EXPECT_EQ(obstacles({}), (Want{"file 0", "file 1 no"}));
  EXPECT_EQ(obstacles({kRsa, kEcdsa}), (Want{"agent 1", "agent 0 no", "file 0"}));
  EXPECT_EQ(obstacles({blob("ssh-dss", "x"), kEd25519}), (Want{"agent 1", "file 1 no"}));
  more_ = "identitiesonly yes\n";
  EXPECT_EQ(obstacles({kRsa, kEcdsa}), (Want{"agent 1", "file 0"}));
}

// The beginnings of two files of ssh-keygen, as far as their public halves.
TEST(PrivateKeyText, SaysWhichKeyItIs) {
  const std::string begin = "-----BEGIN OPENSSH PRIVATE KEY-----\n",
                    end = "\n-----END OPENSSH PRIVATE KEY-----\n";
  const auto plain =
      read_private_key_text(begin +
                            "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"
                            "QyNTUxOQAAACAYPkG0gblZZeyKjvZNHfbtbu9rNmeeKF+1a7tLuvFAzwAAAIg/Cj6YPwo+" +
                            end);
  EXPECT_EQ(plain.obstacle, "");
  EXPECT_EQ(plain.blob,
            decode_base64("AAAAC3NzaC1lZDI1NTE5AAAAIBg+QbSBuVll7IqO9k0d9u1u72s2Z54oX7Vru0u68UDP"));
  const auto encrypted =
      read_private_key_text(begin +
                            "b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABAddr8qwm\n"
                            "lM8px/t8McAGEfAAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIELnciOcDv2RAs5n\n"
                            "0N9vuGzmPi4/eVpKGCuabNCy4mdBAAAAkD44" +
                            end);
  EXPECT_EQ(encrypted.obstacle, "is encrypted");
  EXPECT_EQ(encrypted.blob,
            decode_base64("AAAAC3NzaC1lZDI1NTE5AAAAIELnciOcDv2RAs5n0N9vuGzmPi4/eVpKGCuabNCy4mdB"));
  EXPECT_EQ(read_private_key_text(begin + "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUA" + end).obstacle, "is damaged");
  EXPECT_EQ(read_private_key_text(begin + "\x01" + end).obstacle, "is damaged");
  EXPECT_EQ(read_private_key_text("-----BEGIN EC PRIVATE KEY-----\n").obstacle, "");
  EXPECT_EQ(read_private_key_text("-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n").obstacle,
            "is encrypted");
  EXPECT_NE(read_private_key_text("-----BEGIN RSA PRIVATE KEY-----\n").obstacle, "");
  EXPECT_NE(read_private_key_text("").obstacle, "");
}

TEST(PublicKeyText, IsOneLine) {
  const std::string base64 = "AAAAC3NzaC1lZDI1NTE5AAAAIBg+QbSBuVll7IqO9k0d9u1u72s2Z54oX7Vru0u68UDP";
  EXPECT_EQ(read_public_key_text("ssh-ed25519 " + base64 + " me@here\n"), decode_base64(base64));
  EXPECT_EQ(read_public_key_text("ssh-rsa " + base64), "");
  EXPECT_EQ(read_public_key_text("-----BEGIN"), "");
}

}  // namespace
}  // namespace mcdtp
