#pragma once

#include <string>
#include <string_view>

namespace mcdtp {

// `path` with `home` in the place of a ~ before its first slash; as it is without such, or without a home.
inline std::string in_home(std::string path, std::string_view home) {
  if (path.starts_with("~/") && !home.empty()) path.replace(0, 1, home);
  return path;
}

}  // namespace mcdtp
