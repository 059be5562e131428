#include "server/limits.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mcdtp {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_limits(text, "FILE");
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(Limits, AreRead) {
  const Limits none = parse_limits("\n# nothing\n   \n", "FILE");
  EXPECT_FALSE(none.ports || none.rate_bps || none.memory_bytes);
  EXPECT_TRUE(none.forwards);
  const Limits all = parse_limits(
      "# don't ask\nportrange 5-6\r\n  MaxRate '1.5M'  # for all\nMAXMEMORY 8M # the host's\nForwards no\n"
      "gatewayports clientspecified",
      "FILE");
  ASSERT_TRUE(all.ports);
  EXPECT_EQ(all.ports->low, 5);
  EXPECT_EQ(all.ports->high, 6);
  EXPECT_EQ(all.rate_bps, 1'500'000u);
  EXPECT_EQ(all.memory_bytes, 8u << 20);
  EXPECT_FALSE(all.forwards);
  EXPECT_EQ(none.gateway_ports, std::nullopt);
  EXPECT_EQ(all.gateway_ports, GatewayPorts::kClientSpecified);
}

TEST(Limits, MistakesHaveTheirPlace) {
  for (const auto& [text, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"\nWhat 3", "FILE line 2: there is no setting What"},
           {"PortRange 0-5", "FILE line 1: PortRange wants LOW-HIGH, two ports from 1 to 65535"},
           {"PortRange 6-5", "FILE line 1: PortRange wants LOW-HIGH, two ports from 1 to 65535"},
           {"PortRange", "FILE line 1: PortRange wants LOW-HIGH, two ports from 1 to 65535"},
           {"MaxRate 0", "FILE line 1: MaxRate wants bits a second from 1k on, such as 500M"},
           {"MaxRate nan", "FILE line 1: MaxRate wants bits a second from 1k on, such as 500M"},
           {"MaxRate 1e9", "FILE line 1: MaxRate wants bits a second from 1k on, such as 500M"},
           {"MaxRate 5M 6M", "FILE line 1: MaxRate wants bits a second from 1k on, such as 500M"},
           {"MaxMemory 7M", "FILE line 1: MaxMemory wants bytes from 8M on, such as 64M"},
           {"Forwards maybe", "FILE line 1: Forwards wants yes or no"},
           {"GatewayPorts maybe", "FILE line 1: GatewayPorts wants no, yes or clientspecified"},
           {"Forwards 'no", "FILE line 1: a quote is not closed"}})
    EXPECT_EQ(refusal(text), sentence);
}

TEST(Limits, OnlyTighten) {
  ServerOptions options;
  options.ports = {100, 200};
  options.memory_bytes = 64u << 20;
  apply_limits({}, options);
  EXPECT_EQ(options.ports.low, 100);
  EXPECT_EQ(options.max_rate_bps, std::nullopt);
  EXPECT_TRUE(options.policy.local_forwards && options.policy.remote_forwards);
  apply_limits({PortRange{150, 300}, 5000, 128u << 20, true, {}}, options);
  EXPECT_EQ(options.ports.low, 150);
  EXPECT_EQ(options.ports.high, 200);
  EXPECT_EQ(options.memory_bytes, 64u << 20);
  EXPECT_EQ(options.max_rate_bps, 5000u);
  apply_limits({PortRange{400, 500}, 9000, 8u << 20, false, GatewayPorts::kYes}, options);
  EXPECT_EQ(options.policy.gateway_ports, GatewayPorts::kYes);
  EXPECT_EQ(options.ports.low, 400);
  EXPECT_EQ(options.ports.high, 500);
  EXPECT_EQ(options.memory_bytes, 8u << 20);
  EXPECT_EQ(options.max_rate_bps, 5000u);
  EXPECT_FALSE(options.policy.local_forwards || options.policy.remote_forwards);
}

TEST(Limits, WhereACommandIsForcedTheClientChoosesLittle) {
  ServerOptions options;
  options.ports = {1, 1023};
  options.memory_bytes = std::numeric_limits<std::uint64_t>::max();
  apply_limits(limits_where_forced({}), options);
  EXPECT_EQ(options.ports, PortRange());
  EXPECT_EQ(options.memory_bytes, default_memory());
  Limits said;
  said.ports = {5000, 5009};
  said.memory_bytes = default_memory() + 1;
  options.memory_bytes = *said.memory_bytes + 1;
  apply_limits(limits_where_forced(said), options);
  EXPECT_EQ(options.ports, said.ports);
  EXPECT_EQ(options.memory_bytes, said.memory_bytes);
}

TEST(Limits, OfTwoFilesBothHold) {
  const Limits one{PortRange{1, 100}, 10, std::nullopt, true, {}};
  const Limits two{PortRange{50, 200}, std::nullopt, 8u << 20, false, {}};
  for (const Limits& both : {tighter(one, two), tighter(two, one)}) {
    EXPECT_EQ(both.ports->low, 50);
    EXPECT_EQ(both.ports->high, 100);
    EXPECT_EQ(both.rate_bps, 10u);
    EXPECT_EQ(both.memory_bytes, 8u << 20);
    EXPECT_FALSE(both.forwards);
  }
  EXPECT_EQ(tighter({}, one).ports->high, 100);
  const Limits yes{{}, {}, {}, true, GatewayPorts::kYes};
  const Limits some{{}, {}, {}, true, GatewayPorts::kClientSpecified};
  EXPECT_EQ(tighter(yes, {}).gateway_ports, GatewayPorts::kYes);
  EXPECT_EQ(tighter(yes, some).gateway_ports, GatewayPorts::kClientSpecified);
  EXPECT_THROW(tighter(one, {PortRange{200, 201}, {}, {}, true, {}}), std::runtime_error);
}

}  // namespace
}  // namespace mcdtp
