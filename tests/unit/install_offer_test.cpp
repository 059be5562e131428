#include "client/install_offer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

namespace fs = std::filesystem;

class InstallOfferTest : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name) << text;
  }
  std::optional<InstallOffer> find() const {
    return find_install_offer({(dir_ / "a").string(), (dir_ / "b").string(), (dir_ / "none").string()});
  }

  TemporaryFolder folder_;
  const fs::path& dir_ = folder_.path();
};

TEST_F(InstallOfferTest, OneFileForEachMachineTheFirstFound) {
  EXPECT_FALSE(find());
  put("a/mcdtp-server", "own");
  put("a/mcdtp-server.bad name", "x");
  put("a/mcdtp-server.x86_64/x", "a folder");
  EXPECT_FALSE(find());
  put("b/mcdtp-server.x86_64", "beside");
  put("b/mcdtp-server.aarch64", "arm");
  put("a/mcdtp-server.aarch64", "arm first");
  const auto offer = find();
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->files.size(), 2u);
  EXPECT_EQ(offer->files.at("x86_64"), (dir_ / "b/mcdtp-server.x86_64").string());
  EXPECT_EQ(offer->files.at("aarch64"), (dir_ / "a/mcdtp-server.aarch64").string());
}

TEST_F(InstallOfferTest, OtherBytesAreAnotherVersion) {
  put("a/mcdtp-server.x86_64", "one");
  const std::string one = find()->version;
  EXPECT_EQ(one.substr(0, one.find('-')), MCDTP_VERSION);
  EXPECT_EQ(find()->version, one);
  put("a/mcdtp-server.x86_64", "two");
  EXPECT_NE(find()->version, one);
}

TEST_F(InstallOfferTest, Answers) {
  put("a/mcdtp-server.x86_64", "abc");
  put("a/mcdtp-server.empty", "");
  const auto offer = find();
  ASSERT_TRUE(offer);
  // The sum is FIPS 180-2's example.
  EXPECT_EQ(install_answer(*offer, "x86_64"),
            "send 3 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\nabc");
  for (const char* other : {"aarch64", "", "empty", "../x86_64"})
    EXPECT_EQ(install_answer(*offer, other), "none\n");
  fs::remove(dir_ / "a/mcdtp-server.x86_64");
  EXPECT_EQ(install_answer(*offer, "x86_64"), "none\n");
}

}  // namespace
}  // namespace mcdtp
