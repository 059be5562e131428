#pragma once

#include <string>

namespace mcdtp {

struct FileText {
  std::string text;
  int error = 0;  // an errno; 0: the text is all that the file holds
};

// The whole of a small file. One of more than 1 MiB is no small file: EFBIG.
FileText read_file_text(const std::string& path);

}  // namespace mcdtp
