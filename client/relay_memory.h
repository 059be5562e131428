#pragma once

#include <cstdint>
#include <string>

#include "client/cache_file.h"
#include "client/ssh_config.h"

namespace mcdtp {

// Remembers, in a file for each, the jump hosts that carry us, see jump_relay.h, and those that do not: where nothing is known
// the attempt costs a log-in. What cannot be read is not remembered.
class RelayMemory {
 public:
  // Seconds.
  static constexpr std::int64_t kSure = 7 * 86400;
  // Also from an attempt that was broken off, or did not get as far as to tell.
  static constexpr std::int64_t kUnsure = 86400;

  // `folder`: where the files are, empty where there is no place. `config`: what ssh resolved: user, host, port and the way
  // there tell one from another.
  RelayMemory(const std::string& folder, const SshConfig& config);

  const std::string& path() const { return file_.path(); }
  // `now`, here and below: seconds since 1970.
  bool is_ruled_out(std::int64_t now) const;
  // It carried us of late.
  bool is_confirmed(std::int64_t now) const;
  // An attempt begins. Who ends us in the middle of it is not to see another soon, unless it is known to go well. False: that
  // cannot be noted.
  bool begin(std::int64_t now) const;
  void confirm(std::int64_t now) const;
  // For `period` seconds.
  void rule_out(std::int64_t now, std::int64_t period) const { file_.write({now + period, 0}); }
  // Its server forwards nothing: seen again, it is as before.
  void prohibit(std::int64_t now) const { file_.write({now + kSure, kProhibited}); }
  // There is a server after all.
  void forget_ruled_out(std::int64_t now) const;

 private:
  static constexpr std::int64_t kProhibited = -1;  // in the place of the time since when it goes well

  CacheFile file_;
};

}  // namespace mcdtp
