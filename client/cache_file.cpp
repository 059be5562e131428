#include "client/cache_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

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

CacheFile::CacheFile(const std::string& folder, const std::string& kind, const std::string& id,
                     std::string of)
    : of_(std::move(of)) {
  if (!folder.empty()) path_ = folder + "/" + kind + "/" + sha256_hex(id).substr(0, kNameDigits);
}

std::optional<CacheFile::Kept> CacheFile::read(std::int64_t now, std::int64_t longest) const {
  if (path_.empty()) return std::nullopt;
  const FileText file = read_file_text(path_);
  Kept kept;
  const char* const text_end = file.text.data() + file.text.size();
  const auto [end, error] = std::from_chars(file.text.data(), text_end, kept.until);
  if (file.error != 0 || error != std::errc()) return std::nullopt;
  if (std::string_view(end, static_cast<std::size_t>(text_end - end)).starts_with(kSureMark))
    std::from_chars(end + kSureMark.size(), text_end, kept.since);
  return kept.until > now && kept.until <= now + longest ? std::optional(kept) : std::nullopt;
}

// Whole or not at all: others read at the same time.
bool CacheFile::write(const Kept& kept) const {
  if (path_.empty()) return false;
  make_folders(path_);
  const std::string fresh = path_ + "." + std::to_string(getpid());
  const std::string mark = kept.since == 0 ? "" : std::string(kSureMark) + std::to_string(kept.since);
  const std::string text = std::to_string(kept.until) + mark + "\n" + of_ + "\n";
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool whole = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  if (whole && rename(fresh.c_str(), path_.c_str()) == 0) return true;
  unlink(fresh.c_str());
  return false;
}

bool CacheFile::remember(std::int64_t now, std::int64_t period, bool says) const {
  return write({now + period, says || was_said(now, period) ? now : 0});
}

bool CacheFile::was_said(std::int64_t now, std::int64_t period) const {
  const auto kept = read(now, period);
  return kept && kept->since != 0;
}

void CacheFile::remove() const {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace mcdtp
