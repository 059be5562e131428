#include "common/core/exec_words.h"

#include <gtest/gtest.h>

#include "common/core/exec_line.h"

namespace mcdtp {
namespace {

using Words = std::vector<std::string>;

TEST(ExecWords, ComeBackAsTheyWere) {
  std::string every_byte;
  for (int b = 1; b < 256; ++b) every_byte += static_cast<char>(b);
  const Words words = {"", "a", "it's", "two\nlines\n", "$x `y` \\ \"z\"", "\\0101", every_byte, "'", "--"};
  EXPECT_EQ(decode_words(encode_words(words)), words);
  EXPECT_EQ(decode_words(encode_words({})), Words{});
}

TEST(ExecWords, NothingElseIsTaken) {
  for (const char* text :
       {"a;b", "\\0", "\\012", "\\0400", "\\0777", "\\0000", "\\x41", "a\tb", "\\0047a", "'a'", "\xc3"})
    EXPECT_EQ(decode_words(text), std::nullopt) << text;
}

TEST(ExecWords, OfAnExecLineAndOfARequestLine) {
  ExecRequest request;
  request.command = "echo 'it''s' \"$x\"";
  request.environment = {{"A", "b c"}};
  for (const char* server : {"", "~/a \"; b"}) {
    request.server_command = server;
    const Words wanted = {"--protocol",   std::to_string(kProtocolVersion),
                          "--channels",   "4",
                          "--port-range", "60000-61000",
                          "--cc",         "auto",
                          "--env",        "A=b c",
                          "--",           *request.command};
    EXPECT_EQ(parse_exec_line(build_exec_line(request).value()), wanted);
    EXPECT_EQ(parse_request_line(build_request_line(request).value()), wanted);
  }
  request.start_word = "word_1";
  const Words begin = {"--start", "word_1", "--protocol"};
  for (const auto& words : {parse_exec_line(build_exec_line(request).value()),
                            parse_request_line(build_request_line(request).value())}) {
    ASSERT_TRUE(words && words->size() == 14);
    EXPECT_EQ(Words(words->begin(), words->begin() + 3), begin);
  }
  for (const std::string& bad : {std::string("a b"), std::string("a\"b"), std::string(65, 'x')}) {
    request.start_word = bad;
    EXPECT_EQ(build_exec_line(request), std::nullopt) << bad;
    EXPECT_EQ(build_request_line(request), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_exec_line("ls"), std::nullopt);
  EXPECT_EQ(parse_request_line("MCDTP request a"), std::nullopt);
  EXPECT_EQ(parse_request_line("MCDTP request a;\n"), std::nullopt);
}

TEST(ExecWords, OfAnEnvironmentLine) {
  const Environment some = {
      {"A", "b c=d\n"}, {"_B1", ""}, {"LC_X", "it's \xff"}, {"BASH_FUNC_f%%", "() { :\n}"}};
  EXPECT_EQ(parse_environment_line(build_environment_line(some).value()), some);
  EXPECT_EQ(parse_environment_line(build_environment_line({}).value()), Environment());
  for (const char* bad :
       {"MCDTP env A=b", "MCDTP request A\n", "MCDTP env A\n", "MCDTP env \\0075b\n", "MCDTP env $\n"})
    EXPECT_EQ(parse_environment_line(bad), std::nullopt) << bad;
  EXPECT_EQ(build_environment_line({{"A=B", "c"}}), std::nullopt);
  EXPECT_EQ(build_environment_line({{"", "c"}}), std::nullopt);
  EXPECT_EQ(build_environment_line({{"A", std::string(1, '\0')}}), std::nullopt);
  EXPECT_EQ(build_environment_line({{"A", std::string(kMaxExecLine, 'x')}}), std::nullopt);
}

// What is asked back is noise to who did not say that it may be, and no byte around it is lost.
TEST(GreetingQuestions, OnlyWhereTheyMayBeAsked) {
  const std::string text = "noise" + std::string(ask_line()) + "more" + std::string(plain_line()) + "rest";
  const Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  const auto told = [](Bytes part) { return std::string(part.begin(), part.end()); };
  GreetingFinder deaf;
  EXPECT_EQ(deaf.feed(bytes), GreetingFinder::Result::kPlain);
  EXPECT_EQ(told(deaf.noise()), "noise" + std::string(ask_line()) + "more");
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    GreetingFinder finder;
    finder.take_questions();
    int questions = 0;
    auto result = GreetingFinder::Result::kMore;
    std::size_t used = 0;
    while (used < bytes.size() && result != GreetingFinder::Result::kPlain) {
      const std::size_t size = std::min(piece, bytes.size() - used);
      result = finder.feed(bytes.subspan(used, size));
      used += size;
      if (result != GreetingFinder::Result::kAsks) continue;
      EXPECT_EQ(finder.question(), "ask");
      ++questions;
      result = finder.feed({});
    }
    EXPECT_EQ(questions, 1);
    EXPECT_EQ(told(finder.noise()), "noisemore");
    EXPECT_EQ(told(finder.rest()), told(bytes.first(used)).substr(text.size() - 4));
  }
}

TEST(GreetingQuestions, BeforeTheStartOnlyWhoHasNoRequestYetAsks) {
  const std::string early = std::string(slow_question()) + std::string(environment_question());
  const std::string text = early + std::string(ask_line()) + early + start_line("word") + "\nMCDTP slow\n";
  GreetingFinder finder;
  finder.take_questions();
  finder.await_start("word");
  EXPECT_EQ(finder.feed(as_bytes(text)), GreetingFinder::Result::kAsks);
  EXPECT_EQ(finder.question(), "ask");
  EXPECT_FALSE(finder.has_begun());
  EXPECT_EQ(finder.feed({}), GreetingFinder::Result::kAsks);
  EXPECT_EQ(finder.question(), "slow");
  EXPECT_TRUE(finder.has_begun());
  EXPECT_EQ(finder.feed({}), GreetingFinder::Result::kMore);
  EXPECT_EQ(std::string(finder.noise().begin(), finder.noise().end()), early + early);
}

}  // namespace
}  // namespace mcdtp
