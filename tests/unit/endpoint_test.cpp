#include "common/io/endpoint.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/un.h>

#include <cstring>
#include <stdexcept>
#include <unordered_set>

namespace mcdtp {
namespace {

Endpoint endpoint(const char* address, std::uint16_t port) {
  return Endpoint::from_text(address, port).value();
}

sockaddr_in6 raw_v6(const char* address, std::uint16_t port) {
  sockaddr_in6 out{};
  out.sin6_family = AF_INET6;
  out.sin6_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET6, address, &out.sin6_addr), 1);
  return out;
}

Endpoint from(const sockaddr_in6& raw) {
  return Endpoint::from_sockaddr(reinterpret_cast<const sockaddr*>(&raw), sizeof raw).value();
}

TEST(Endpoint, TextComesBack) {
  EXPECT_EQ(endpoint("10.1.2.3", 22).to_string(), "10.1.2.3:22");
  EXPECT_EQ(endpoint("2001:DB8::0:1", 65535).to_string(), "[2001:db8::1]:65535");
  EXPECT_EQ(endpoint("::1", 0).address_text(), "::1");
  EXPECT_EQ(endpoint("fe80::1%lo", 5).to_string(), "[fe80::1%1]:5");
  EXPECT_EQ(Endpoint().to_string(), "0.0.0.0:0");
}

TEST(Endpoint, RefusesWhatIsNoAddress) {
  for (const char* text : {"", "host", "1.2.3", "1.2.3.4.5", "127.1", "0x7f.0.0.1", "1.2.3.4 ", "[::1]",
                           "::1%no-such", "::1%", ":::", "1.2.3.4:5"}) {
    EXPECT_FALSE(Endpoint::from_text(text, 1)) << text;
  }
  EXPECT_FALSE(Endpoint::from_text(std::string_view("1.2.3.4\0x", 9), 1));
}

TEST(Endpoint, MappedIsV4) {
  const Endpoint v4 = endpoint("192.0.2.7", 99);
  EXPECT_EQ(endpoint("::ffff:192.0.2.7", 99), v4);
  EXPECT_EQ(from(raw_v6("::ffff:192.0.2.7", 99)), v4);
  EXPECT_TRUE(v4.is_v4());
  EXPECT_EQ(v4.size(), sizeof(sockaddr_in));
  const sockaddr_in6 mapped = v4.as_v6();
  const sockaddr_in6 wanted = raw_v6("::ffff:192.0.2.7", 99);
  EXPECT_EQ(std::memcmp(&mapped, &wanted, sizeof wanted), 0);
}

TEST(Endpoint, EqualityLooksAtAddressPortAndScope) {
  EXPECT_NE(endpoint("10.0.0.1", 1), endpoint("10.0.0.1", 2));
  EXPECT_NE(endpoint("10.0.0.1", 1), endpoint("10.0.0.2", 1));
  EXPECT_NE(endpoint("fe80::1%1", 1), endpoint("fe80::1%2", 1));
  sockaddr_in6 labelled = raw_v6("2001:db8::5", 7);
  labelled.sin6_flowinfo = htonl(12345);
  EXPECT_EQ(from(labelled), endpoint("2001:db8::5", 7));
  sockaddr_in padded{};
  std::memset(&padded, 0xee, sizeof padded);
  padded.sin_family = AF_INET;
  EXPECT_EQ(Endpoint::from_sockaddr(reinterpret_cast<sockaddr*>(&padded), sizeof padded),
            endpoint("238.238.238.238", 0xeeee));
}

TEST(Endpoint, ForeignFamiliesAndShortOnesAreNothing) {
  sockaddr_un path{};
  path.sun_family = AF_UNIX;
  EXPECT_FALSE(Endpoint::from_sockaddr(reinterpret_cast<sockaddr*>(&path), sizeof path));
  const sockaddr_in6 raw = raw_v6("::1", 1);
  EXPECT_FALSE(Endpoint::from_sockaddr(reinterpret_cast<const sockaddr*>(&raw), sizeof(sockaddr_in)));
  EXPECT_FALSE(Endpoint::from_sockaddr(reinterpret_cast<const sockaddr*>(&raw), 0));
}

TEST(Endpoint, Kinds) {
  EXPECT_TRUE(endpoint("127.255.0.1", 1).is_loopback());
  EXPECT_TRUE(endpoint("::1", 1).is_loopback());
  EXPECT_TRUE(endpoint("::ffff:127.0.0.1", 1).is_loopback());
  EXPECT_FALSE(endpoint("128.0.0.1", 1).is_loopback());
  EXPECT_FALSE(endpoint("::2", 1).is_loopback());
  EXPECT_EQ(Endpoint::any(AF_INET6, 9).port(), 9);
  EXPECT_EQ(endpoint("::1", 9).with_port(10), endpoint("::1", 10));
}

TEST(Endpoint, Hashes) {
  const std::unordered_set<Endpoint> set{endpoint("10.0.0.1", 1), endpoint("::ffff:10.0.0.1", 1),
                                         endpoint("10.0.0.1", 2), endpoint("::1", 1)};
  EXPECT_EQ(set.size(), 3u);
  EXPECT_TRUE(set.contains(endpoint("10.0.0.1", 2)));
}

TEST(Resolve, DigitsNeedNoResolver) {
  EXPECT_EQ(resolve("127.0.0.1", 22, AF_UNSPEC), std::vector{endpoint("127.0.0.1", 22)});
  EXPECT_EQ(resolve("::1", 22, AF_INET6), std::vector{endpoint("::1", 22)});
}

TEST(Resolve, LocalhostIsLoopback) {
  for (const Endpoint& found : resolve("localhost", 1, AF_UNSPEC)) EXPECT_TRUE(found.is_loopback());
}

TEST(Resolve, SaysWhatItLookedFor) {
  try {
    resolve("::1", 22, AF_INET);
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()).find("looking up ::1: "), 0u) << error.what();
  }
}

}  // namespace
}  // namespace mcdtp
