#include "client/forced_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "common/core/sha256.h"
#include "common/io/file_text.h"

namespace mcdtp {
namespace {

constexpr std::size_t kNameDigits = 32;
constexpr std::string_view kSureMark = " sure ";  // since when

// As far as it can be made.
void make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    mkdir(path.substr(0, slash).c_str(), 0700);
}

}  // namespace

std::string cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/mcdtp";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/mcdtp" : "";
}

ForcedMemory::ForcedMemory(const std::string& folder, const SshConfig& config)
    : account_(config.user() + "@" + config.host_name() + " port " + config.text("port")) {
  std::string id = account_;
  for (const char* keyword :
       {"identityfile", "certificatefile", "identityagent", "proxyjump", "proxycommand"}) {
    for (const std::string& line : config.lines(keyword)) id += "\n" + std::string(keyword) + " " + line;
  }
  if (!folder.empty()) path_ = folder + "/forced/" + sha256_hex(id).substr(0, kNameDigits);
}

// Unset: it is over. A date too far away is one of another clock.
std::optional<ForcedMemory::Kept> ForcedMemory::read(std::int64_t now) const {
  if (path_.empty()) return std::nullopt;
  const FileText file = read_file_text(path_);
  Kept kept;
  const char* const text_end = file.text.data() + file.text.size();
  const auto [end, error] = std::from_chars(file.text.data(), text_end, kept.until);
  if (file.error != 0 || error != std::errc()) return std::nullopt;
  if (std::string_view(end, static_cast<std::size_t>(text_end - end)).starts_with(kSureMark))
    std::from_chars(end + kSureMark.size(), text_end, kept.since);
  return kept.until > now && kept.until <= now + kSure ? std::optional(kept) : std::nullopt;
}

bool ForcedMemory::holds(std::int64_t now) const { return read(now).has_value(); }

// Once an hour will do.
void ForcedMemory::renew(std::int64_t now) const {
  constexpr std::int64_t kHour = 3600;
  const auto kept = read(now);
  if (!kept || kept->since == 0) return;
  const std::int64_t until = std::min(now + kSure, kept->since + kLongest);
  if (kept->until < until - kHour) write({until, kept->since});
}

bool ForcedMemory::remember(std::int64_t now, std::int64_t period) const {
  return write({now + period, period == kSure ? now : 0});
}

// Whole or not at all: others read at the same time.
bool ForcedMemory::write(const Kept& kept) const {
  if (path_.empty()) return false;
  make_folders(path_);
  const std::string fresh = path_ + "." + std::to_string(getpid());
  const std::string mark = kept.since == 0 ? "" : std::string(kSureMark) + std::to_string(kept.since);
  const std::string text = std::to_string(kept.until) + mark + "\n" + account_ + "\n";
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool whole = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  if (whole && rename(fresh.c_str(), path_.c_str()) == 0) return true;
  unlink(fresh.c_str());
  return false;
}

void ForcedMemory::forget() const {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace mcdtp
