#pragma once

#include <cstddef>
#include <optional>

#include "common/core/types.h"

namespace mcdtp {

// How large the datagrams of one channel may be: the search of RFC 8899 (DPLPMTUD). All sizes are bytes of UDP
// payload. Knows no packets but their numbers and sizes; data never waits for it.
//
//   kBase       kBase bytes, which every path worth using carries; nothing is known yet
//   kSearching  probes of larger sizes go out, one at a time, each after kDataPerProbe times its size of data, so
//               that a short command sends none and a search takes no more than a small share of the path
//   kComplete   at most kStep bytes are left to be found; kRaise later the limit is asked for, and it searches again
//   kError      the path carries less than kBase by now: nothing of size() would come. One that never carried it is not met
//               here, for its channel is never proved
//
// A probe carries nothing that is missed. Its loss says nothing but that this size may be too large; a size that
// lost kMaxProbes probes is. Where kBlackHoleLosses packets of data larger than kBase are lost in a row, and of what
// was sent after the first of them a small one arrives but no large one, they are in a black hole: back to kBase at
// once, and search anew up to the size that was. Where that happens to kErrorLosses of kBase bytes, of which
// kSureLosses were sent after that small one, it is kError: of an outage, too, a small one may be the first to come.
class PathMtu {
 public:
  static constexpr std::size_t kBase = kMinDatagram;
  static constexpr std::size_t kMost = kMaxDatagram;
  static constexpr std::size_t kStep = 16;
  static constexpr int kMaxProbes = 3;
  static constexpr int kBlackHoleLosses = 6;
  static constexpr int kErrorLosses = 12;
  static constexpr int kSureLosses = 3;
  static constexpr std::size_t kDataPerProbe = 16;
  static constexpr Duration kRaise = seconds(600);

  enum class State : std::uint8_t { kBase, kSearching, kComplete, kError };

  State state() const { return state_; }
  // Of packets with data: kBase or the largest size confirmed. Never over what may be tried.
  std::size_t size() const { return size_; }

  // The user wants no larger ones, at least kBase. Stays for ever.
  void set_cap(std::size_t bytes);
  // The outgoing interface takes no larger ones. The same again changes nothing.
  void set_limit(Time now, std::size_t bytes);
  // The system takes no datagram of so many bytes, whatever the interface says of itself.
  void on_refused(Time now, std::size_t bytes);
  // Another channel has found this size: likely here too, and tried first.
  void set_hint(std::size_t bytes) { hint_ = bytes; }
  // Another path: nothing is known of it, not even its limit.
  void restart();

  // There is data enough that a search would pay, and set_limit() was not called since restart(), or for kRaise.
  bool wants_limit() const { return !has_limit_ && data_ >= kDataPerProbe * kBase && cap_ > kBase; }
  // A packet of data goes out, of so many bytes.
  void on_data_sent(Time now, std::size_t bytes);

  // The size of the probe that is to go out now.
  std::optional<std::size_t> probe() const;
  // REQUIRES: probe().
  void on_probe_sent(PacketNumber number);
  // Has arrived, if late. True: size() has grown.
  bool on_probe_covered(Time now, PacketNumber number, std::size_t size);
  void on_probe_lost(Time now, PacketNumber number);

  // Packets that are no probes.
  void on_covered(PacketNumber number, std::size_t size);
  void on_lost(Time now, PacketNumber number, std::size_t size);

 private:
  void set_size(std::size_t size);
  bool is_large(std::size_t size) const { return size > kBase || (size == kBase && size_ == kBase); }
  void begin(Time now, std::size_t top);
  void advance(Time now);
  bool is_likely(std::size_t size) const;
  std::size_t next_size() const;

  State state_ = State::kBase;
  std::size_t cap_ = kMost;
  std::size_t limit_ = kBase;
  bool has_limit_ = false;  // set_limit() said it, not too long ago
  std::size_t hint_ = 0;    // 0: none
  std::size_t size_ = kBase;

  // While searching: size_ <= what is sought < high_, the smallest size known to be too large or not wanted.
  std::size_t high_ = kBase + 1;
  std::size_t top_ = kBase;  // the largest size of this search: untried while it is below high_
  std::size_t probed_ = 0;   // the size of the last probe
  int probes_lost_ = 0;      // of this size
  std::optional<PacketNumber> outstanding_;  // the last probe, while nothing is known of it
  std::size_t data_ = 0;                     // bytes since the last probe
  Time raise_at_ = kNever;                   // when kComplete is over

  // Packets that are no probes, while size() is kBase, or while it is more: those are large that kBase bytes, or more,
  // make.
  struct Arrivals {
    void on_large_lost(PacketNumber number);
    bool is_black_hole() const { return large_lost >= kBlackHoleLosses && small_since; }
    bool is_error() const { return large_lost >= kErrorLosses && sure_lost >= kSureLosses; }

    int large_lost = 0;                        // in a row, no large one covered that was sent after the first
    PacketNumber first_large_lost = 0;         // of this row
    std::optional<PacketNumber> small_since;   // covered, and sent since
    int sure_lost = 0;                         // of this row: sent after small_since
    std::optional<PacketNumber> newest_large;  // that was covered
    std::optional<PacketNumber> newest_small;  // likewise
  };
  Arrivals arrivals_;
};

}  // namespace mcdtp
