// What a client asks of a forced server, of one that sshd starts, or of its environment: any bytes in its place. What is
// taken can be said again, and is then the same.
#include <string_view>

#include "common/core/check.h"
#include "common/core/exec_line.h"
#include "common/core/exec_words.h"

namespace {

using Words = std::optional<std::vector<std::string>>;

void check_words(const Words& words) {
  if (words) CHECK(mcdtp::decode_words(mcdtp::encode_words(*words)) == words);
}

void check_environment(std::string_view line) {
  const auto environment = mcdtp::parse_environment_line(line);
  if (!environment) return;
  const auto again = mcdtp::build_environment_line(*environment);
  if (again) CHECK(mcdtp::parse_environment_line(*again) == environment);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_words(mcdtp::decode_words(text));
  check_words(mcdtp::parse_exec_line(text));
  check_words(mcdtp::parse_request_line(text));
  check_environment(text);
  return 0;
}
