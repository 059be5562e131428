#include "client/forced_memory.h"

#include <algorithm>

namespace mcdtp {
ForcedMemory::ForcedMemory(const std::string& folder, const SshConfig& config)
    : file_(folder, "forced", config.log_in(), config.account()) {}

bool ForcedMemory::holds(std::int64_t now) const { return file_.read(now, kSure).has_value(); }

// Once an hour will do.
void ForcedMemory::renew(std::int64_t now) const {
  constexpr std::int64_t kHour = 3600;
  const auto kept = file_.read(now, kSure);
  if (!kept || kept->since == 0) return;
  const std::int64_t until = std::min(now + kSure, kept->since + kLongest);
  if (kept->until < until - kHour) file_.write({until, kept->since});
}

bool ForcedMemory::remember(std::int64_t now, std::int64_t period) const {
  return file_.write({now + period, period == kSure ? now : 0});
}

}  // namespace mcdtp
