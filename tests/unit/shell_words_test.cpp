#include "common/core/shell_words.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

using Words = std::vector<std::string>;

TEST(ShellWords, SplitAsAShellWould) {
  EXPECT_EQ(split_shell_words(""), Words{});
  EXPECT_EQ(split_shell_words(" \t\n"), Words{});
  EXPECT_EQ(split_shell_words("a  b\tc\nd"), (Words{"a", "b", "c", "d"}));
  EXPECT_EQ(split_shell_words("a'b c'\"d  e\"f"), Words{"ab cd  ef"});
  EXPECT_EQ(split_shell_words("'' \"\" x"), (Words{"", "", "x"}));
  EXPECT_EQ(split_shell_words("a\\ b '\\' \"\\\"\\\\\\a\\$\""), (Words{"a b", "\\", "\"\\\\a$"}));
  EXPECT_EQ(split_shell_words("$x `y` * ~ #z"), (Words{"$x", "`y`", "*", "~", "#z"}));
  EXPECT_EQ(split_shell_words("a\\\nb"), Words{"ab"});
  EXPECT_EQ(split_shell_words("a '#b' c#d \\#e #f 'g", '#'), (Words{"a", "#b", "c#d", "#e"}));
  EXPECT_EQ(split_shell_words("'a"), std::nullopt);
  EXPECT_EQ(split_shell_words("\"a\\\""), std::nullopt);
}

}  // namespace
}  // namespace mcdtp
