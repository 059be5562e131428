#pragma once

#include <cstddef>
#include <string>

namespace mcdtp {

struct FileText {
  std::string text;
  int error = 0;  // an errno; 0: the text is all that the file holds

  // Why it could not be read. REQUIRES: error is not 0.
  std::string reason() const;
};

// The whole of a file of at most `most` bytes; EFBIG: it is larger, EOPNOTSUPP: a pipe, which may never end.
FileText read_file_text(const std::string& path, std::size_t most = 1 << 20);

// All that comes from `fd` until its end, or until reading fails.
std::string read_text(int fd);

}  // namespace mcdtp
