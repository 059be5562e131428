#include "tests/wan/statistics.h"

#include <algorithm>
#include <numeric>
#include <sstream>

namespace mcdtp::wan {
namespace {

constexpr std::array<const char*, kCauses> kCauseNames = {"passed", "unmapped", "too_big",    "udp_blocked",
                                                          "cut",    "policed",  "queue_full", "lost"};

}  // namespace

void Lateness::add(Duration late) {
  late = std::max(late, Duration::zero());
  max_ = std::max(max_, late);
  ++counts_[std::min(static_cast<std::size_t>(late / kStep), counts_.size() - 1)];
}

void Lateness::add(const Lateness& other) {
  max_ = std::max(max_, other.max_);
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

Duration Lateness::quantile(double share) const {
  auto total = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  auto wanted = share * static_cast<double>(total);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size() && total > 0; ++i) {
    seen += counts_[i];
    if (static_cast<double>(seen) >= wanted) return std::min(max_, kStep * static_cast<int>(i + 1));
  }
  return Duration::zero();
}

std::string describe(const std::string& direction, const Statistics& statistics) {
  std::ostringstream out;
  auto word = [&](const char* name, std::uint64_t value) {
    out << ' ' << direction << '_' << name << '=' << value;
  };
  word("in", statistics.in_packets);
  word("in_bytes", statistics.in_bytes);
  for (std::size_t i = 0; i < kCauses; ++i) word(kCauseNames[i], statistics.packets[i]);
  word("duplicated", statistics.duplicated);
  word("reordered", statistics.reordered);
  word("corrupted", statistics.corrupted);
  word("delivered", statistics.delivered_packets);
  word("delivered_bytes", statistics.delivered_bytes);
  word("refused", statistics.refused);
  word("overruns", statistics.overruns);
  word("uncut", statistics.uncut);
  word("reads", statistics.reads);
  word("writes", statistics.writes);
  out << ' ' << direction << "_cpu_seconds=" << to_seconds(statistics.cpu_time);
  return out.str().substr(1);
}

}  // namespace mcdtp::wan
