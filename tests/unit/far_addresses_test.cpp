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
    for (const Endpoint& address : far.candidates({"127.0.0.1", "2001:db8::1", "::ffff:127.0.0.2"}))
      std::fprintf(stderr, "%s\n", address.address_text().c_str());
    std::_Exit(0);
  };
  EXPECT_EXIT(texts_without_ipv6(), testing::ExitedWithCode(0), "^127.0.0.1\n127.0.0.2\n$");
}

TEST(FarAddresses, WhatIsKnownComesFirstAndOnce) {
  const FarAddresses far("127.0.0.3", AddressFamily::kAny);
  const auto found = far.candidates({"127.0.0.1", "192.0.2.1", "127.0.0.1"});
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[0].address_text(), "127.0.0.1");
  EXPECT_EQ(found[1].address_text(), "192.0.2.1");
  EXPECT_TRUE(far.candidates({"", "127.0.0.1"}).empty());
}

}  // namespace
}  // namespace mcdtp
