#include "client/read_once.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace mcdtp {

bool is_read_once(const std::string& path) {
  for (const char* descriptors : {"/dev/stdin", "/dev/fd/", "/proc/self/fd/"}) {
    if (path.starts_with(descriptors)) return true;
  }
  struct stat file {};
  if (stat(path.c_str(), &file) != 0 || S_ISREG(file.st_mode) || S_ISDIR(file.st_mode)) return false;
  const dev_t null = makedev(1, 3);
  return !S_ISCHR(file.st_mode) || file.st_rdev != null;
}

}  // namespace mcdtp
