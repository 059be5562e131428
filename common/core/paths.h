#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "common/core/types.h"

namespace mcdtp {

// The far addresses of one datagram channel, each known by a PathId. A path is proved by a report that covers
// a packet of full size sent on it (that packet is the challenge, the report its echo); data go only on the proved, active
// one, but for the first of a session, see early(). An address that never proved itself gets at most kAmplification
// times the bytes that came from it, unless we chose it ourselves, or it is validated.
class Paths {
 public:
  static constexpr std::uint64_t kAmplification = 3;
  // What an address gets that is only expected to be the peer's, until something comes from there: probes for a minute or
  // two.
  static constexpr std::uint64_t kUnheardBytes = 16 * 1200;

  // Addresses of our own choosing, to be probed. True: one of them is new.
  bool set_candidates(const std::vector<PathId>& candidates);
  // An authenticated packet came from here; only the channel's highest number makes a new address count.
  // True: the address is new and wants a probe.
  bool on_packet(PathId from, std::size_t bytes, bool highest);
  // A report covers a packet sent here, of full size or a smaller one.
  enum class Proof : std::uint8_t {
    kNone,
    kReachable,  // to be probed again: what was allowed there was too small to prove that it carries data
    kActive,     // it has become the active path
  };
  Proof on_covered(PathId path, bool full_size);
  // It is an address of the host that has logged in: nobody else can be flooded by what goes there (address validation,
  // RFC 9000 section 8.1).
  void on_validated(PathId path);
  // The peer says that it sends from here, and the address is one that on_validated() could be told of. It wants probes,
  // though nothing has come from there: firewalls on the way take what comes for an answer then. It is proved only when
  // something has, for a report alone may be made up. False: the peer was heard from elsewhere, or the address is known.
  bool expect(PathId path);
  void on_sent(PathId path, std::size_t bytes);
  // Nothing comes back from the active path: it has to prove itself again.
  void doubt();

  std::optional<PathId> active() const { return active_; }
  // The active path, where it is one of our own choosing.
  std::optional<PathId> chosen() const;
  bool is_ours(PathId path) const;
  bool knows(PathId path) const { return find(path) != nullptr; }
  // Where data may go before any path is proved: what our own first candidate is, or a validated address heard from.
  std::optional<PathId> early() const;
  // Where a report may go: the active path, else the newest heard from, else the one to begin with.
  std::optional<PathId> reply() const { return active_ ? active_ : newest_ ? newest_ : early(); }
  std::vector<PathId> unproved() const;
  // How many bytes may go there now.
  std::uint64_t allowance(PathId path) const;

 private:
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
  struct Path {
    PathId id = 0;
    bool ours = false;   // we chose it: no amplification limit
    bool wanted = true;  // to be probed until proved
    bool validated = false;
    bool echoed = false;  // has proved itself once: no amplification limit, or what it got by then would
                          // forbid the next probe
    std::uint64_t received = 0;  // bytes
    std::uint64_t sent = 0;      // bytes
  };
  static constexpr std::size_t kMaxPaths = 16;

  // We chose it, or something has come from there.
  static bool is_peers(const Path& path) { return path.ours || path.received > 0; }
  std::uint64_t most_bytes(const Path& path) const;
  void stop_following();
  Path* find(PathId id);
  const Path* find(PathId id) const { return const_cast<Paths*>(this)->find(id); }

  std::vector<Path> paths_;
  std::optional<PathId> active_;
  std::optional<PathId> newest_;
};

}  // namespace mcdtp
