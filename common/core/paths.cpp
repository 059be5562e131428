#include "common/core/paths.h"

#include <algorithm>
#include <utility>

namespace mcdtp {

Paths::Path* Paths::find(PathId id) {
  const auto it = std::find_if(paths_.begin(), paths_.end(), [&](const Path& p) { return p.id == id; });
  return it == paths_.end() ? nullptr : &*it;
}

std::optional<PathId> Paths::chosen() const { return active_ && is_ours(*active_) ? active_ : std::nullopt; }

bool Paths::is_ours(PathId id) const {
  const Path* path = find(id);
  return path != nullptr && path->ours;
}

bool Paths::set_candidates(const std::vector<PathId>& candidates) {
  const std::size_t before = paths_.size();
  for (const PathId id : candidates) {
    if (find(id) == nullptr) paths_.push_back({.id = id, .ours = true});
  }
  return paths_.size() > before;
}

bool Paths::on_packet(PathId from, std::size_t bytes, bool highest) {
  if (Path* known = find(from)) {
    const bool is_first = known->received == 0;
    known->received += bytes;
    if (!highest || newest_ == from) return false;
    newest_ = from;
    if (active_ == from) stop_following();
    known->wanted = active_ != from;
    return known->wanted && (!known->ours || (is_first && !active_));
  }
  if (!highest) return false;
  if (paths_.size() >= kMaxPaths) {
    std::erase_if(paths_, [&](const Path& p) { return !p.ours && active_ != p.id; });
  }
  paths_.push_back({.id = from, .received = bytes});
  newest_ = from;
  return true;
}

Paths::Proof Paths::on_covered(PathId id, bool full_size) {
  Path* path = find(id);
  if (path == nullptr || !path->wanted || !is_peers(*path)) return Proof::kNone;
  const bool known = std::exchange(path->echoed, true);
  if (!full_size) return known ? Proof::kNone : Proof::kReachable;
  path->wanted = false;
  // Our own candidates: the first that answers wins. A far address: the newest.
  if (path->ours && active_) return Proof::kNone;
  active_ = id;
  // The peer may have moved on meanwhile.
  for (Path& other : paths_) other.wanted = other.wanted && !other.ours && newest_ == other.id;
  return Proof::kActive;
}

// The peer is where it was proved to be.
void Paths::stop_following() {
  for (Path& path : paths_) path.wanted = path.wanted && path.ours;
}

void Paths::on_validated(PathId id) {
  if (Path* path = find(id)) path->validated = true;
}

bool Paths::expect(PathId id) {
  if (find(id) != nullptr) return false;
  paths_.push_back({.id = id, .wanted = !newest_, .validated = true});
  return !newest_;
}

std::optional<PathId> Paths::early() const {
  if (active_) return std::nullopt;
  const auto is_wanted = [&](const Path& path) {
    return newest_ ? path.id == newest_ && (path.ours || path.validated) : path.ours;
  };
  const auto path = std::find_if(paths_.begin(), paths_.end(), is_wanted);
  return path != paths_.end() ? std::optional(path->id) : std::nullopt;
}

void Paths::on_sent(PathId id, std::size_t bytes) {
  if (Path* path = find(id)) path->sent += bytes;
}

void Paths::doubt() {
  active_.reset();
  for (Path& path : paths_) path.wanted = path.ours || newest_ == path.id || (!newest_ && path.validated);
}

std::vector<PathId> Paths::unproved() const {
  std::vector<PathId> ids;
  for (const Path& path : paths_) {
    if (path.wanted && active_ != path.id) ids.push_back(path.id);
  }
  return ids;
}

std::uint64_t Paths::allowance(PathId id) const {
  const Path* path = find(id);
  if (path == nullptr) return 0;
  const std::uint64_t most = most_bytes(*path);
  if (most == kUnlimited) return kUnlimited;
  return most > path->sent ? most - path->sent : 0;
}

std::uint64_t Paths::most_bytes(const Path& path) const {
  if (active_ == path.id || path.ours || path.echoed) return kUnlimited;
  if (!is_peers(path)) return kUnheardBytes;
  return path.validated ? kUnlimited : kAmplification * path.received;
}

}  // namespace mcdtp
