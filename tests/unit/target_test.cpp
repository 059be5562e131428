#include "common/core/target.h"

#include <gtest/gtest.h>

#include "common/core/wire.h"

namespace mcdtp {
namespace {

TEST(Target, TextsOfEachKind) {
  const std::vector<std::pair<std::string, Target>> pairs = {
      {"tcp 2049 nfs.example.org", ToTcp{"nfs.example.org", 2049}},
      {"tcp 65535 2001:db8::1", ToTcp{"2001:db8::1", 65535}},
      {"tcp 1 a b", ToTcp{"a b", 1}},
      {"unix /run/a socket", ToUnix{"/run/a socket"}},
      {"listen-tcp 0 ", ListenTcp{"", 0}},
      {"listen-tcp 8080 localhost", ListenTcp{"localhost", 8080}},
      {"listen-unix relative", ListenUnix{"relative"}},
      {"forwarded 2", Forwarded{2}},
      {"forwarded 0", Forwarded{0}},
  };
  for (const auto& [text, target] : pairs) {
    SCOPED_TRACE(text);
    EXPECT_EQ(format_target(target), text);
    EXPECT_EQ(parse_target(text), target);
    EXPECT_TRUE(is_sayable(target));
  }
}

TEST(Target, NothingElseIsTaken) {
  for (const std::string& text : {std::string(""),
                                  std::string("tcp"),
                                  std::string("tcp 22"),
                                  std::string("tcp 22 "),
                                  std::string("tcp 0 h"),
                                  std::string("tcp 022 h"),
                                  std::string("tcp 65536 h"),
                                  std::string("tcp -1 h"),
                                  std::string("tcp  h"),
                                  std::string("tcp 22h"),
                                  std::string("TCP 22 h"),
                                  std::string("unix "),
                                  std::string("listen-tcp 22"),
                                  std::string("listen-tcp x "),
                                  std::string("listen-unix "),
                                  std::string("forwarded "),
                                  std::string("forwarded 2 "),
                                  std::string("forwarded x"),
                                  std::string("forwarded 99999999999999999999"),
                                  std::string("udp 22 h"),
                                  std::string("unix /a\0b", 9)}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
}

TEST(Target, WhatOpenCannotCarry) {
  EXPECT_FALSE(is_sayable(ToTcp{std::string(kMaxTargetSize, 'h'), 1}));
  EXPECT_FALSE(is_sayable(ToTcp{"", 1}));
  EXPECT_FALSE(is_sayable(ToTcp{"h", 0}));
  EXPECT_FALSE(is_sayable(ToUnix{std::string("/a\0b", 4)}));
}

TEST(ListenAnswer, Lines) {
  EXPECT_EQ(format_listen_answer({40000, {}}), "bound 40000\n");
  EXPECT_EQ(format_listen_answer({std::nullopt, "bind: no"}), "failed bind: no\n");
  EXPECT_EQ(parse_listen_answer("bound 0"), (ListenAnswer{0, {}}));
  EXPECT_EQ(parse_listen_answer("failed bind: no"), (ListenAnswer{std::nullopt, "bind: no"}));
  for (const char* line : {"", "bound", "bound ", "bound 65536", "bound 1 ", "bound 01", "failed", "Bound 1"})
    EXPECT_FALSE(parse_listen_answer(line)) << line;
  const std::string cut = format_listen_answer({std::nullopt, std::string(2000, 'x')});
  EXPECT_EQ(cut.size(), ListenAnswer::kMaxSize);
  EXPECT_TRUE(parse_listen_answer(std::string_view(cut).substr(0, cut.size() - 1)));
}

}  // namespace
}  // namespace mcdtp
