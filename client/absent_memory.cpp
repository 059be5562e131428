#include "client/absent_memory.h"

#include <utility>

#include "common/core/greeting.h"

namespace mcdtp {

AbsentMemory::AbsentMemory(std::string folder, const SshConfig& config)
    : folder_(std::move(folder)), log_in_(config.log_in()), account_(config.account()) {}

CacheFile AbsentMemory::file(const std::string& need) const {
  const std::string version = "protocol " + std::to_string(kProtocolVersion);
  return {folder_, "no-server", log_in_ + "\n" + version + "\n" + need, account_ + ", for " + need};
}

bool AbsentMemory::holds(std::int64_t now, const std::string& need) const {
  return file(need).read(now, kPeriod).has_value();
}

bool AbsentMemory::was_said(std::int64_t now, const std::string& need) const {
  const auto kept = file(need).read(now, kPeriod);
  return kept && kept->since != 0;
}

bool AbsentMemory::remember(std::int64_t now, const std::string& need, bool says) const {
  return file(need).write({now + kPeriod, says || was_said(now, need) ? now : 0});
}

void AbsentMemory::forget() const {
  for (const std::string& need : {std::string(kCommands), std::string(kForwards), subsystem("sftp")})
    file(need).remove();
}

}  // namespace mcdtp
