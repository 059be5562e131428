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

void AbsentMemory::forget() const {
  for (const std::string& need : {std::string(kCommands), std::string(kForwards), subsystem("sftp")})
    file(need).remove();
}

}  // namespace mcdtp
