#include "common/core/socks.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "common/core/bytes.h"

namespace mcdtp {
namespace {

using Data = std::vector<std::uint8_t>;
using State = SocksRequest::State;

Data concat(std::initializer_list<Data> parts) {
  Data all;
  for (const Data& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}
Data text(std::string_view words) { return {words.begin(), words.end()}; }

// Port 443 everywhere.
Data socks4(Data address, const Data& rest) { return concat({{4, 1, 1, 0xbb}, std::move(address), rest}); }
Data socks5(std::uint8_t type, const Data& address) {
  return concat({{5, 1, 0}, {5, 1, 0, type}, address, {1, 0xbb}});
}
const Data kSelected = {5, 0};
Data reply5(std::uint8_t code) { return {5, code, 0, 1, 0, 0, 0, 0, 0, 0}; }
Data reply4(std::uint8_t code) { return {0, code, 0, 0, 0, 0, 0, 0}; }

struct Fed {
  State state = State::kMore;
  std::string host;      // empty unless there is a target
  std::size_t used = 0;  // bytes taken
  Data answer;
  bool operator==(const Fed&) const = default;
};

Fed feed(const Data& data, std::size_t piece) {
  SocksRequest request;
  Fed fed;
  while (fed.used < data.size() && request.state() == State::kMore) {
    fed.used += request.feed(Bytes(data).subspan(fed.used, std::min(piece, data.size() - fed.used)));
    const Data answer = request.take_answer();
    fed.answer.insert(fed.answer.end(), answer.begin(), answer.end());
  }
  fed.state = request.state();
  if (fed.state == State::kTarget) {
    fed.host = request.host();
    EXPECT_EQ(request.port(), 443);
  }
  return fed;
}

// The same in pieces of many sizes, and with the connection's first bytes behind the request.
void expect_fed(const Data& data, State state, const std::string& host, const Data& answer) {
  const Fed wanted{state, host, data.size(), answer};
  const Data more = concat({data, text("GET /")});
  for (std::size_t piece = 1; piece <= more.size(); piece += 1 + piece / 4) {
    EXPECT_EQ(feed(data, piece), wanted) << to_hex(data) << " in pieces of " << piece;
    if (state != State::kMore) {
      EXPECT_EQ(feed(more, piece), wanted) << to_hex(data) << " in pieces of " << piece;
    }
  }
}

TEST(Socks, Targets) {
  expect_fed(socks4({10, 0, 0, 255}, {0}), State::kTarget, "10.0.0.255", {});
  expect_fed(socks4({10, 0, 0, 1}, text(std::string("me\0", 3))), State::kTarget, "10.0.0.1", {});
  expect_fed(socks4({0, 0, 0, 0}, {0}), State::kTarget, "0.0.0.0", {});
  expect_fed(socks4({0, 0, 0, 1}, text(std::string("me\0far.example\0", 15))), State::kTarget, "far.example",
             {});
  expect_fed(socks5(1, {127, 0, 0, 1}), State::kTarget, "127.0.0.1", kSelected);
  expect_fed(socks5(3, text("\x0b"
                            "far.example")),
             State::kTarget, "far.example", kSelected);
  expect_fed(concat({{5, 2, 2, 0}, {5, 1, 0xff, 1, 1, 2, 3, 4, 1, 0xbb}}), State::kTarget, "1.2.3.4",
             kSelected);
}

TEST(Socks, Ipv6) {
  const std::pair<const char*, const char*> kAddresses[] = {
      {"00000000000000000000000000000000", "::"},
      {"00000000000000000000000000000001", "::1"},
      {"fe800000000000000000000000000000", "fe80::"},
      {"20010db8000000000001000000000001", "2001:db8::1:0:0:1"},
      {"20010db8000100000000000000000001", "2001:db8:1::1"},
      {"00010000000300040005000600070008", "1:0:3:4:5:6:7:8"},
      {"00000000000300040005000600070a08", "::3:4:5:6:7:a08"},
  };
  for (const auto& [bytes, host] : kAddresses)
    expect_fed(socks5(4, *from_hex(bytes)), State::kTarget, host, kSelected);
}

TEST(Socks, NotWholeYet) {
  for (const Data& whole :
       {socks4({0, 0, 0, 1}, text(std::string("me\0h\0", 5))), socks5(3, text("\x02hi"))}) {
    for (std::size_t size = 1; size < whole.size(); ++size)
      EXPECT_EQ(feed({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, size).state,
                State::kMore);
  }
}

TEST(Socks, Refused) {
  expect_fed(text("G"), State::kFailed, "", {});
  expect_fed({5, 0}, State::kFailed, "", {5, 0xff});
  expect_fed({5, 2, 1, 2}, State::kFailed, "", {5, 0xff});
  expect_fed({5, 1, 0, 4}, State::kFailed, "", concat({kSelected, reply5(1)}));
  expect_fed({5, 1, 0, 5, 2, 0, 1}, State::kFailed, "", concat({kSelected, reply5(7)}));
  expect_fed({5, 1, 0, 5, 1, 0, 2}, State::kFailed, "", concat({kSelected, reply5(8)}));
  expect_fed(socks5(3, {0}), State::kFailed, "", concat({kSelected, reply5(1)}));
  expect_fed(socks5(3, {2, 'h', 0}), State::kFailed, "", concat({kSelected, reply5(1)}));
  expect_fed(socks5(3, {2, 'h', '\n'}), State::kFailed, "", concat({kSelected, reply5(1)}));
  expect_fed({5, 1, 0, 5, 1, 0, 1, 1, 2, 3, 4, 0, 0}, State::kFailed, "", concat({kSelected, reply5(1)}));
  expect_fed({4, 2, 1, 0xbb, 1, 2, 3, 4}, State::kFailed, "", reply4(0x5b));
  expect_fed(socks4({0, 0, 0, 1}, {0, 0}), State::kFailed, "", reply4(0x5b));
}

TEST(Socks, Bounds) {
  const Data longest(SocksRequest::kMaxText, 'h');
  const std::string name(longest.begin(), longest.end());
  expect_fed(socks5(3, concat({{255}, longest})), State::kTarget, name, kSelected);
  expect_fed(socks4({0, 0, 0, 1}, concat({longest, {0}, longest, {0}})), State::kTarget, name, {});
  expect_fed(socks4({1, 2, 3, 4}, concat({longest, {'h'}})), State::kFailed, "", reply4(0x5b));
  expect_fed(socks4({0, 0, 0, 1}, concat({longest, {0}, longest, {'h'}})), State::kFailed, "", reply4(0x5b));
}

TEST(Socks, Replies) {
  SocksRequest five, four;
  five.feed(socks5(1, {1, 2, 3, 4}));
  four.feed(socks4({1, 2, 3, 4}, {0}));
  const std::pair<SocksReply, std::uint8_t> kCodes[] = {
      {SocksReply::kConnected, 0},           {SocksReply::kGeneralFailure, 1},
      {SocksReply::kNotAllowed, 2},          {SocksReply::kNetworkUnreachable, 3},
      {SocksReply::kHostUnreachable, 4},     {SocksReply::kRefused, 5},
      {SocksReply::kCommandNotSupported, 7}, {SocksReply::kAddressTypeNotSupported, 8},
  };
  for (const auto& [reply, code] : kCodes) {
    EXPECT_EQ(five.reply(reply), reply5(code));
    EXPECT_EQ(four.reply(reply), reply4(code == 0 ? 0x5a : 0x5b));
  }
}

}  // namespace
}  // namespace mcdtp
