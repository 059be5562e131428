#include "common/core/greeting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace mcdtp {
namespace {

using Result = GreetingFinder::Result;

Greeting example() {
  Greeting g;
  for (std::size_t i = 0; i < g.secret.size(); ++i) g.secret[i] = static_cast<std::uint8_t>(i * 37);
  g.udp_ports = {60000, 60001, 1};
  g.tcp_port = 65535;
  g.address = "2001:db8::1";
  g.cipher = Cipher::kChaCha20Poly1305;
  return g;
}

const std::string kSecretHex = "00254a6f94b9de03284d7297bce1062b50759abfe4092e53789dc2e70c31567b";

TEST(GreetingLine, IsAsDocumented) {
  EXPECT_EQ(format_greeting(example()),
            "\nMCDTP 5 " + kSecretHex + " chacha20-poly1305 65535 60000,60001,1 2001:db8::1\n");
  Greeting g = example();
  g.udp_ports.clear();
  g.tcp_port.reset();
  g.address.clear();
  g.cipher = Cipher::kAes128Gcm;
  EXPECT_EQ(format_greeting(g), "\nMCDTP 5 " + kSecretHex + " aes-128-gcm - - -\n");
}

TEST(GreetingLine, RoundTrip) {
  Greeting g = example();
  EXPECT_EQ(parse_greeting(format_greeting(g)), g);
  g.udp_ports.clear();
  for (std::uint16_t i = 0; i < kMaxDatagramChannels; ++i)
    g.udp_ports.push_back(static_cast<std::uint16_t>(65535 - i));
  g.address = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255";
  EXPECT_EQ(parse_greeting(format_greeting(g)), g);
  EXPECT_LT(format_greeting(g).size(), GreetingFinder::kMaxLine);
  g = Greeting();
  EXPECT_EQ(parse_greeting(format_greeting(g)), g);
}

TEST(GreetingLine, StrictlyParsed) {
  const std::string good = format_greeting(example());
  ASSERT_TRUE(parse_greeting(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(parse_greeting(good.substr(0, i))) << i;
    std::string changed = good;
    changed[i] = ';';
    EXPECT_FALSE(parse_greeting(changed)) << changed;
    changed = good;
    changed.insert(i, " ");
    EXPECT_FALSE(parse_greeting(changed)) << changed;
    changed.erase(i, 2);
    const std::optional<Greeting> parsed = parse_greeting(changed);
    if (parsed) {
      EXPECT_EQ(format_greeting(*parsed), changed);
    }
  }
  EXPECT_FALSE(parse_greeting(good + "\n"));
  const std::string start = "\nMCDTP 5 " + kSecretHex + " aes-128-gcm ";
  ASSERT_TRUE(parse_greeting(start + "1 1 ::\n"));
  for (const char* end :
       {"0 1 ::", "01 1 ::", "65536 1 ::", "+1 1 ::", " 1 ::", "1 0 ::", "1 1,1 ::", "1 1, ::", "1 ,1 ::",
        "1 -,1 ::", "1 1 :", "1 1 fe80::1%eth0", "1 1 host.name", "1 1 :: ", "1 1 ::\r", "1 1"})
    EXPECT_FALSE(parse_greeting(start + end + "\n")) << end;
  std::string many = "3";
  for (int i = 3; i < 67; ++i) many += "," + std::to_string(i);
  EXPECT_FALSE(parse_greeting(start + "1 " + many + " ::\n"));
}

struct Outcome {
  Result result;
  std::string noise, rest;
  bool operator==(const Outcome&) const = default;
};

std::string text_of(Bytes data) { return {reinterpret_cast<const char*>(data.data()), data.size()}; }

// Feeds pieces of a size that `next_size` gives until a verdict; the rest counts as read from the stream.
template <typename Size>
Outcome find(GreetingFinder& finder, std::string_view text, Size next_size) {
  Result result = Result::kMore;
  while (result == Result::kMore && !text.empty()) {
    const std::size_t size = std::min<std::size_t>(next_size(), text.size());
    result = finder.feed(as_bytes(text.substr(0, size)));
    text.remove_prefix(size);
  }
  if (result == Result::kNone || result == Result::kMore)
    return {result, text_of(finder.noise()) + std::string(text), text_of(finder.rest())};
  return {result, text_of(finder.noise()), text_of(finder.rest()) + std::string(text)};
}

Outcome find(std::string_view text) {
  GreetingFinder finder;
  return find(finder, text, [] { return std::string::npos; });
}

TEST(GreetingFinder, FindsLineBetweenNoiseAndStream) {
  const std::string line = format_greeting(example());
  EXPECT_EQ(find(line), (Outcome{Result::kGreeting, "", ""}));
  EXPECT_EQ(find("motd\n" + line + line), (Outcome{Result::kGreeting, "motd\n", line}));
  EXPECT_EQ(find("no newline" + line + "out"), (Outcome{Result::kGreeting, "no newline", "out"}));
  EXPECT_EQ(find("\n\n\nMCDTP plain\n\n"), (Outcome{Result::kPlain, "\n\n", "\n"}));
  EXPECT_EQ(find("\nMCDTP nosubsystem\n"), (Outcome{Result::kNoSubsystem, "", ""}));
  EXPECT_EQ(find("noise"), (Outcome{Result::kMore, "noise", ""}));
  EXPECT_EQ(find(line.substr(0, line.size() - 1)).result, Result::kMore);
  GreetingFinder finder;
  find(finder, "x" + line, [] { return 1; });
  EXPECT_EQ(finder.greeting(), example());
}

// A command that the far side forces, or a shell's start-up file, may print what others have written.
TEST(GreetingFinder, BeforeTheStartLineAllIsNoise) {
  const std::string start = start_line("word"), line = format_greeting(example());
  const std::string forged =
      line + "\nMCDTP plain\n" + "\nMCDTP nosubsystem\n" + start_line("wor") + "\nMCDTP start\n";
  const auto find_after_start = [&](const std::string& text, std::size_t piece) {
    GreetingFinder finder;
    finder.await_start("word");
    return find(finder, text, [piece] { return piece; });
  };
  for (std::size_t piece = 1; piece < 300; ++piece) {
    EXPECT_EQ(find_after_start(forged, piece), (Outcome{Result::kMore, forged, ""}));
    EXPECT_EQ(find_after_start(forged + start + line + "out", piece),
              (Outcome{Result::kGreeting, forged, "out"}));
    EXPECT_EQ(find_after_start(start + start + "x\nMCDTP plain\n\n", piece),
              (Outcome{Result::kPlain, start + "x", "\n"}));
  }
  const std::string most(GreetingFinder::kMaxNoiseBytes, 'x');
  EXPECT_EQ(find_after_start(most + start + line, 1 << 16), (Outcome{Result::kGreeting, most, ""}));
  EXPECT_EQ(find_after_start(most + "x" + start + line, 1 << 30).result, Result::kNone);
}

TEST(GreetingFinder, MalformedLineIsNoise) {
  for (const std::string bad :
       {"\nMCDTP", "\nMCDTP ", "\nMCDTP plain ", "\nMCDTP 5 00", "\nMCDTP\n", "\n MCDTP plain"})
    EXPECT_EQ(find(bad + "\nMCDTP plain\nout"), (Outcome{Result::kPlain, bad, "out"})) << bad;
  EXPECT_EQ(find("MCDTP plain\n").result, Result::kMore);
  const std::string endless = "\nMCDTP " + std::string(5000, 'x');
  EXPECT_EQ(find(endless + "\nMCDTP plain\n"), (Outcome{Result::kPlain, endless, ""}));
}

TEST(GreetingFinder, NoiseIsBounded) {
  const std::string line = format_greeting(example());
  const std::string most(GreetingFinder::kMaxNoiseBytes, 'x');
  EXPECT_EQ(find(most + line + "y"), (Outcome{Result::kGreeting, most, "y"}));
  EXPECT_EQ(find(most + "x" + line), (Outcome{Result::kNone, most + "x" + line, ""}));
  EXPECT_EQ(find(most + "x").result, Result::kNone);
  const std::string lines(100'000, '\n');
  EXPECT_EQ(find(lines + line).result, Result::kGreeting);
}

// Against the plain definition: the first well-formed line within the bounds.
Outcome find_slowly(const std::string& text) {
  for (std::size_t i = 0; i <= GreetingFinder::kMaxNoiseBytes && i < text.size(); ++i) {
    if (text[i] != '\n') continue;
    const std::string line = text.substr(i, text.find('\n', i + 1) + 1 - i);
    const auto at = [&](Result r) { return Outcome{r, text.substr(0, i), text.substr(i + line.size())}; };
    if (line == plain_line()) return at(Result::kPlain);
    if (line == no_subsystem_line()) return at(Result::kNoSubsystem);
    if (parse_greeting(line)) return at(Result::kGreeting);
  }
  return {Result::kMore, text, ""};
}

std::string random_text(std::mt19937& random) {
  const std::string line = format_greeting(example());
  std::string text;
  for (unsigned pieces = random() % 8; pieces > 0; --pieces) {
    switch (random() % 7) {
      case 0: text += "\n"; break;
      case 1: text += line; break;
      case 2: text += line.substr(0, random() % line.size()); break;
      case 3: text += "\nMCDTP "; break;
      case 4: text += plain_line().substr(0, 1 + random() % plain_line().size()); break;
      case 5: text += no_subsystem_line(); break;
      default: text += std::string(random() % 2000, "x M"[random() % 3]);
    }
  }
  return text;
}

TEST(GreetingFinder, SplitsNeverMatter) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_text(random);
    GreetingFinder finder;
    const unsigned largest = 1u << random() % 12;
    const Outcome got = find(finder, text, [&] { return 1 + random() % largest; });
    ASSERT_EQ(got, find_slowly(text)) << "round " << round << ":\n" << text;
    ASSERT_EQ(finder.greeting().has_value(), got.result == Result::kGreeting);
  }
}

}  // namespace
}  // namespace mcdtp
