#pragma once

#include <cstdint>
#include <string>

#include "client/cache_file.h"
#include "client/ssh_config.h"

namespace mcdtp {

// Remembers, in a file for each, the hosts from which no datagram came, so that the next run does not wait for them. They
// are probed all the same: on another network they may come. What cannot be read is not remembered.
class UdpMemory {
 public:
  // Seconds.
  static constexpr std::int64_t kPeriod = 7 * 86400;

  // `folder`: where the files are, empty where there is no place. `config`: what ssh resolved: host, port and the way there
  // tell one from another.
  UdpMemory(const std::string& folder, const SshConfig& config);

  const std::string& path() const { return file_.path(); }
  // `now`, here and below: seconds since 1970.
  bool is_blocked(std::int64_t now) const { return file_.read(now, kPeriod).has_value(); }
  // The user was told.
  bool was_said(std::int64_t now) const { return file_.was_said(now, kPeriod); }
  // For kPeriod from now on. `says`: the user is told now. False: it cannot be written.
  bool remember(std::int64_t now, bool says) const { return file_.remember(now, kPeriod, says); }
  void forget() const { file_.remove(); }

 private:
  CacheFile file_;
};

}  // namespace mcdtp
