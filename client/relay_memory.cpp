#include "client/relay_memory.h"

namespace mcdtp {

RelayMemory::RelayMemory(const std::string& folder, const SshConfig& config)
    : file_(folder, "relay",
            config.account() + "\n" + config.text("proxyjump") + "\n" + config.text("proxycommand"),
            config.account()) {}

bool RelayMemory::is_ruled_out(std::int64_t now) const {
  const auto kept = file_.read(now, kSure);
  return kept && kept->since <= 0;
}

bool RelayMemory::is_confirmed(std::int64_t now) const {
  const auto kept = file_.read(now, kSure);
  return kept && kept->since > 0;
}

bool RelayMemory::begin(std::int64_t now) const {
  return is_confirmed(now) || file_.write({now + kUnsure, 0});
}

// Once a day will do.
void RelayMemory::confirm(std::int64_t now) const {
  constexpr std::int64_t kDay = 86400;
  const auto kept = file_.read(now, kSure);
  if (!kept || kept->since <= 0 || kept->until < now + kSure - kDay) file_.write({now + kSure, now});
}

void RelayMemory::forget_ruled_out(std::int64_t now) const {
  const auto kept = file_.read(now, kSure);
  if (kept && kept->since == 0) file_.remove();
}

}  // namespace mcdtp
