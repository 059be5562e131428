#include "common/io/file_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

class FileTextTest : public testing::Test {
 protected:
  std::string path() const { return folder_ + "/file"; }

  TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(FileTextTest, IsAllOfIt) {
  const std::string text = std::string(100'000, 'x') + '\n';
  std::ofstream(path()) << text;
  EXPECT_EQ(read_file_text(path()).text, text);
  EXPECT_EQ(read_file_text(path()).error, 0);
  EXPECT_EQ(read_file_text(path(), text.size()).error, 0);
  EXPECT_EQ(read_file_text(path(), text.size() - 1).error, EFBIG);
}

TEST_F(FileTextTest, WhyNot) {
  EXPECT_EQ(read_file_text(path()).error, ENOENT);
  EXPECT_EQ(read_file_text(folder_).error, EISDIR);
}

// Nobody has it open: to read it would be to wait for that.
TEST_F(FileTextTest, APipeIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(read_file_text(path()).error, EOPNOTSUPP);
  EXPECT_EQ(read_file_text(path()).reason(), "it is a pipe");
}

}  // namespace
}  // namespace mcdtp
