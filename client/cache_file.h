#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mcdtp {

// $XDG_CACHE_HOME/mcdtp, else ~/.cache/mcdtp; empty where neither is known.
std::string cache_folder();

// A file that says until when something holds, and, for a person who reads it, of whom. What cannot be read does not hold.
class CacheFile {
 public:
  // Seconds since 1970, as `now` below.
  struct Kept {
    std::int64_t until = 0;
    std::int64_t since = 0;  // it is sure, or was said; 0: it is not
  };

  // `folder`: empty where there is no place. `kind`: the folder in it. `id`: what tells one file from another. `of`: one
  // line.
  CacheFile(const std::string& folder, const std::string& kind, const std::string& id, std::string of);

  // The file, whether it is there or not; empty where there is no place.
  const std::string& path() const { return path_; }
  // Unset: it is over. A date further away than `longest` seconds is one of another clock.
  std::optional<Kept> read(std::int64_t now, std::int64_t longest) const;
  // False: it cannot be written.
  bool write(const Kept& kept) const;
  void remove() const;

  // Of what the user is told once: it holds for `period` seconds from now on, and was told, or is now where `says`. False: it
  // cannot be written.
  bool remember(std::int64_t now, std::int64_t period, bool says) const;
  // It holds, and the user was told.
  bool was_said(std::int64_t now, std::int64_t period) const;

 private:
  std::string path_;
  std::string of_;
};

}  // namespace mcdtp
