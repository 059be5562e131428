#include "common/io/host_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "common/core/credit.h"
#include "common/core/whole_number.h"
#include "common/io/file_text.h"

namespace mcdtp {
namespace {

constexpr std::uint64_t kShare = 16;
constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

std::uint64_t host_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size)
                               : kUnknown;
}

// "max" is no number.
std::uint64_t limit_in(const std::string& folder) {
  const FileText file = read_file_text(folder + "/memory.max");
  return parse_whole<std::uint64_t>(std::string_view(file.text).substr(0, file.text.find('\n')))
      .value_or(kUnknown);
}

// What addresses reach, `ulimit -v` and `-d`.
std::uint64_t process_memory_limit() {
  std::uint64_t least = std::numeric_limits<std::size_t>::max();
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      least = std::min<std::uint64_t>(least, limit.rlim_cur);
  }
  return least;
}

}  // namespace

std::uint64_t default_memory_of(std::uint64_t available) {
  return std::clamp(available / kShare, kLeastDefaultMemory, kMostDefaultMemory);
}

// Where the process may not have more than so much, code and stacks are to have room beside it.
std::uint64_t default_memory() {
  constexpr std::uint64_t kShareOfProcess = 4;
  const std::uint64_t most = std::max(kMinMemory, process_memory_limit() / kShareOfProcess);
  return std::min(default_memory_of(available_memory()), most);
}

std::uint64_t available_memory() {
  const auto group = group_memory_limit(read_file_text("/proc/self/cgroup").text, "/sys/fs/cgroup");
  return std::min(host_memory(), group.value_or(kUnknown));
}

std::optional<std::uint64_t> group_memory_limit(const std::string& groups, const std::string& root) {
  const std::string start = "\n0::/";
  const std::string lines = "\n" + groups;  // version 1's groups have lines of their own
  const std::size_t at = lines.find(start);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t from = at + start.size() - 1;
  std::string group = lines.substr(from, lines.find('\n', from) - from);
  std::uint64_t least = kUnknown;
  for (; !group.empty(); group.erase(group.rfind('/'))) least = std::min(least, limit_in(root + group));
  least = std::min(least, limit_in(root));
  return least != kUnknown ? std::optional(least) : std::nullopt;
}

}  // namespace mcdtp
