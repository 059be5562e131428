#include "common/io/interface_mtu.h"

#include <gtest/gtest.h>

#include <fstream>

namespace mcdtp {
namespace {

Endpoint at(const char* address) { return Endpoint::from_text(address, 9).value(); }

std::size_t loopback_mtu() {
  std::size_t mtu = 0;
  std::ifstream("/sys/class/net/lo/mtu") >> mtu;
  return mtu;
}

TEST(InterfaceMtu, IsTheLoopbackInterfacesForItsAddresses) {
  const std::size_t mtu = loopback_mtu();
  if (mtu == 0) GTEST_SKIP() << "this machine shows no loopback interface";
  EXPECT_EQ(interface_mtu(at("127.0.0.1")), mtu);
  EXPECT_EQ(interface_mtu(at("127.1.2.3")), mtu);
}

TEST(InterfaceMtu, TellsNothingWhereThereIsNoWay) {
  // Discard-only: no host has a way there, unless it sends all the world the same way.
  const auto mtu = interface_mtu(at("100::1"));
  EXPECT_TRUE(!mtu || *mtu >= 1280);
}

TEST(InterfaceMtu, PayloadIsWhatTheHeadersLeave) {
  EXPECT_EQ(udp_payload(1500, at("192.0.2.1")), 1472u);
  EXPECT_EQ(udp_payload(1500, at("2001:db8::1")), 1452u);
  EXPECT_EQ(udp_payload(1500, at("::ffff:192.0.2.1")), 1472u);
  EXPECT_EQ(udp_payload(65536, at("127.0.0.1")), 65508u);
  EXPECT_EQ(udp_payload(28, at("192.0.2.1")), 0u);
  EXPECT_EQ(udp_payload(20, at("192.0.2.1")), 0u);
}

}  // namespace
}  // namespace mcdtp
