#pragma once

#include <cstdint>
#include <string>

#include "client/cache_file.h"
#include "client/ssh_config.h"

namespace mcdtp {

// Remembers, in a file for each, where there was no server of our version. The user is told so once, and what needs one, a
// subsystem or forwarded ports, the real ssh does by a log-in of its own: the next run is to need one log-in only. What
// cannot be read is not remembered.
class AbsentMemory {
 public:
  // Seconds. A server may be put there at any time.
  static constexpr std::int64_t kPeriod = 86400;
  // For what: a command runs without one; these need one, or a subsystem does. That there is none for the one says nothing
  // of the other.
  static constexpr const char* kCommands = "commands";
  static constexpr const char* kForwards = "forwards";
  static std::string subsystem(const std::string& name) { return "subsystem " + name; }

  // `folder`: where the files are, empty where there is no place. `config`: what ssh resolved, which tells one log-in from
  // another.
  AbsentMemory(std::string folder, const SshConfig& config);

  // The file for `need`, whether it is there or not; empty where there is no place.
  std::string path(const std::string& need) const { return file(need).path(); }
  // `now`, here and below: seconds since 1970.
  bool holds(std::int64_t now, const std::string& need) const;
  // The user was told.
  bool was_said(std::int64_t now, const std::string& need) const { return file(need).was_said(now, kPeriod); }
  // For kPeriod from now on. `says`: the user is told now. False: it cannot be written, and the next run finds out again.
  bool remember(std::int64_t now, const std::string& need, bool says) const {
    return file(need).remember(now, kPeriod, says);
  }
  // There is a server.
  void forget() const;

 private:
  CacheFile file(const std::string& need) const;

  std::string folder_;
  std::string log_in_;
  std::string account_;
};

}  // namespace mcdtp
