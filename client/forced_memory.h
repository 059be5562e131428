#pragma once

#include <cstdint>
#include <string>

#include "client/cache_file.h"
#include "client/ssh_config.h"

namespace mcdtp {

// Remembers, in a file for each, the accounts and keys for which the far side ran none of our commands, so that the
// next run goes to the real ssh at once. What cannot be read is not remembered.
class ForcedMemory {
 public:
  // Seconds. A command that ended before the start line was surely another one; a silence may have been a slow host.
  static constexpr std::int64_t kSure = 7 * 86400;
  static constexpr std::int64_t kUnsure = 86400;
  // However often it is renewed: what was taken for another command may have been a failure that has passed.
  static constexpr std::int64_t kLongest = 30 * 86400;

  // `folder`: where the files are, empty where there is no place. `config`: what ssh resolved, which
  // tells one log-in from another.
  ForcedMemory(const std::string& folder, const SshConfig& config);

  // The file, whether it is there or not; empty where there is no place.
  const std::string& path() const { return file_.path(); }
  // `now`, here and below: seconds since 1970.
  bool holds(std::int64_t now) const;
  // What is sure holds for as long again: to ask anew would run the forced command for nothing.
  void renew(std::int64_t now) const;
  // For `period` seconds from now on. False: it cannot be written.
  bool remember(std::int64_t now, std::int64_t period) const;
  void forget() const { file_.remove(); }

 private:
  CacheFile file_;
};

}  // namespace mcdtp
