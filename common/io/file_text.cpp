#include "common/io/file_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace mcdtp {

std::string FileText::reason() const { return error == EOPNOTSUPP ? "it is a pipe" : std::strerror(error); }

FileText read_file_text(const std::string& path, std::size_t most) {
  FileText result;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return {"", errno};
  struct stat file {};
  if (fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode)) result.error = EOPNOTSUPP;
  // Not on the stack, which may be small.
  std::vector<char> buffer(65536);
  while (result.error == 0) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) result.error = errno;
    if (got <= 0) break;
    result.text.append(buffer.data(), static_cast<std::size_t>(got));
    if (result.text.size() > most) result.error = EFBIG;
  }
  close(fd);
  return result;
}

std::string read_text(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace mcdtp
