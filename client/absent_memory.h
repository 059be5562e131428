#pragma once

#include <cstdint>
#include <string>

#include "client/cache_file.h"
#include "client/ssh_config.h"

namespace mcdtp {

// Remembers, in a file for each, where there was no server of our version for what needs one, a subsystem or forwarded
// ports: the real ssh does that by a log-in of its own, and the next run is to need one log-in only. What cannot be read is
// not remembered.
class AbsentMemory {
 public:
  // Seconds. A server may be put there at any time.
  static constexpr std::int64_t kPeriod = 86400;
  // What needs one: these, or a subsystem. That there is none for the one says nothing of the other.
  static constexpr const char* kForwards = "forwards";
  static std::string subsystem(const std::string& name) { return "subsystem " + name; }

  // `folder`: where the files are, empty where there is no place. `config`: what ssh resolved, which tells one log-in from
  // another.
  AbsentMemory(std::string folder, const SshConfig& config);

  // The file for `need`, whether it is there or not; empty where there is no place.
  std::string path(const std::string& need) const { return file(need).path(); }
  // `now`, here and below: seconds since 1970.
  bool holds(std::int64_t now, const std::string& need) const;
  // For kPeriod from now on. Where it cannot be written the next run finds out again.
  void remember(std::int64_t now, const std::string& need) const { file(need).write({now + kPeriod, 0}); }
  // There is a server.
  void forget() const;

 private:
  CacheFile file(const std::string& need) const;

  std::string folder_;
  std::string log_in_;
  std::string account_;
};

}  // namespace mcdtp
