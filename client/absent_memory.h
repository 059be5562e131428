#pragma once

#include <cstdint>
#include <string>

#include "client/cache_file.h"
#include "client/ssh_config.h"

namespace mcdtp {

// Remembers, in a file for each, the accounts where there was no server for what needs one, a subsystem or forwarded ports:
// the real ssh does that by a log-in of its own, and the next run is to need one log-in only. What cannot be read is not
// remembered.
class AbsentMemory {
 public:
  // Seconds. A server may be put there at any time.
  static constexpr std::int64_t kPeriod = 86400;

  // `folder`: where the files are, empty where there is no place. `config`: what ssh resolved: user, host, port and the way
  // there tell one from another.
  AbsentMemory(const std::string& folder, const SshConfig& config)
      : file_(folder, "no-server",
              config.account() + "\n" + config.text("proxyjump") + "\n" + config.text("proxycommand"),
              config.account()) {}

  const std::string& path() const { return file_.path(); }
  // `now`, here and below: seconds since 1970.
  bool holds(std::int64_t now) const { return file_.read(now, kPeriod).has_value(); }
  // For kPeriod from now on. Where it cannot be written the next run finds out again.
  void remember(std::int64_t now) const { file_.write({now + kPeriod, 0}); }
  void forget() const { file_.remove(); }

 private:
  CacheFile file_;
};

}  // namespace mcdtp
