#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/types.h"

namespace mcdtp::wan {

// From `at` on (counted from the link's start) the link sends `bits_per_second` of IP bytes.
struct RateStep {
  Duration at{};
  double bits_per_second = 0;
};

struct Cut {
  Duration from{};
  Duration to{};
};

struct Policer {
  double bits_per_second = 0;
  double burst_bytes = 0;
};

// What one direction of the link does to packets. The default is a perfect link of unlimited rate.
struct PathSettings {
  std::vector<RateStep> rates;               // ordered by `at`; before the first one the rate is unlimited
  Duration delay{};                          // one way
  Duration jitter{};                         // at most so much more delay, evenly spread; the order is kept
  Duration wander{};                         // at most so much more for a while, see Path; the order is kept
  double loss = 0;                           // share of packets lost
  std::optional<double> loss_burst;          // mean packets in a run of losses; unset: each packet by itself
  std::optional<std::uint64_t> queue_bytes;  // unset: max(64 KiB, rate x 2 x delay)
  double reorder = 0;                        // share of packets held back by reorder_delay
  Duration reorder_delay = milliseconds(5);
  double duplicate = 0;
  double corrupt = 0;  // share of packets with one bit flipped behind the IP header
  std::vector<Cut> cuts;
  std::optional<Policer> policer;
  bool polices_all = true;         // false: UDP alone
  std::optional<std::size_t> mtu;  // larger packets vanish without an ICMP message
  bool block_udp = false;
};

// Throw std::runtime_error with a sentence for the user where the text is not of that form.
double parse_number(std::string_view text);        // 12, 0.05, 64k, 100M, 1G (powers of 1,000)
std::uint64_t parse_count(std::string_view text);  // the same, rounded down
double parse_share(std::string_view text);         // 0 to 1
Duration parse_milliseconds(std::string_view text);
Cut parse_cut(std::string_view text);             // FROM-TO, seconds
RateStep parse_rate_step(std::string_view text);  // AT:RATE, seconds and bit/s
Policer parse_policer(std::string_view text);     // RATE:BURST, bit/s and bytes

// "up,down", or one text for both.
std::pair<std::string, std::string> parse_both(const std::string& text);

}  // namespace mcdtp::wan
