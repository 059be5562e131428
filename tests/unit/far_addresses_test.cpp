#include "client/far_addresses.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

namespace mcdtp {
namespace {

// From here on this process has a kernel that knows no IPv6. False: it cannot be had.
bool forget_ipv6() {
  constexpr auto kNumber = offsetof(seccomp_data, nr), kFamily = offsetof(seccomp_data, args);
  sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
                         BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFamily),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{std::size(rules), rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(FarAddresses, NoneOfIpv6WhereThisHostHasNone) {
  if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0) GTEST_SKIP() << "this kernel has no seccomp";
  const auto texts_without_ipv6 = [] {
    if (!forget_ipv6()) std::_Exit(2);
    const FarAddresses far("127.0.0.1", AddressFamily::kAny);
    for (const char* to_us : {"2001:db8::1", "::ffff:127.0.0.2"}) {
      for (const Endpoint& address : far.candidates("127.0.0.1", to_us))
        std::fprintf(stderr, "%s\n", address.address_text().c_str());
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(texts_without_ipv6(), testing::ExitedWithCode(0), "^(127.0.0.1\n)?127.0.0.1\n127.0.0.2\n$");
}

TEST(FarAddresses, WhatIsKnownComesFirstAndOnce) {
  const FarAddresses far("127.0.0.3", AddressFamily::kAny);
  const auto found = far.candidates("198.51.100.1", "192.0.2.1");
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[0].address_text(), "198.51.100.1");
  EXPECT_EQ(found[1].address_text(), "192.0.2.1");
  EXPECT_TRUE(far.candidates("", "127.0.0.1").empty());
  const auto once = far.candidates("192.0.2.1", "192.0.2.1");
  ASSERT_GE(once.size(), 1U);
  EXPECT_TRUE(once.size() == 1 || once[1].address_text() == "127.0.0.3");
}

// A server names what only we can reach: it is taken where we have come to such a one ourselves.
TEST(FarAddresses, TheServerLeadsToNoHostOfOurs) {
  const FarAddresses far("", AddressFamily::kAny);
  for (const char* ours : {"127.0.0.77", "0.0.0.0", "169.254.1.1", "224.0.0.1", "255.255.255.255", "::1",
                           "::", "fe80::1", "ff02::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(far.candidates(ours, "").empty()) << ours;
    const auto found = far.candidates(ours, "192.0.2.1");
    ASSERT_EQ(found.size(), 1U) << ours;
    EXPECT_EQ(found[0].address_text(), "192.0.2.1");
  }
  EXPECT_EQ(far.candidates("127.0.0.1", "127.0.0.2").size(), 2U);
  EXPECT_EQ(far.candidates("10.0.0.1", "192.0.2.1").size(), 2U);
}

}  // namespace
}  // namespace mcdtp
