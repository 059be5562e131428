#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "common/core/types.h"

namespace mcdtp {

// Whose bytes go into the next packet, after the flow queues of RFC 8290:
//   kSparse  streams that had nothing to send and now have new bytes. Each may send kRun before it is one of kFresh;
//            who sends little never waits behind who sends much
//   kAgain   streams with bytes that were lost. Those that keep little go first
//   kFresh   all others with new bytes, kRun each in turn. A sparse stream that ran empty stands here once, so that
//            one that writes in drops is not sparse at every drop
// Sparse and lost bytes alternate where both wait: neither can starve the other. Holds numbers of streams, at most one of
// kSparse and kFresh and one of kAgain for each, and learns only when it meets one that it has nothing to send.
class Turns {
 public:
  // Bytes that a stream may send before the next one has its turn.
  static constexpr std::uint64_t kRun = 16 * 1024;
  enum class Lane : std::uint8_t { kSparse, kAgain, kFresh };
  struct Turn {
    Lane lane;
    StreamId stream;
  };

  // REQUIRES: the stream stands in neither kSparse nor kFresh.
  void add_fresh(StreamId id) { lane(Lane::kSparse).push_back(id); }
  // `small`: the stream keeps little. REQUIRES: it does not stand in kAgain.
  void add_again(StreamId id, bool small) {
    small ? lane(Lane::kAgain).push_front(id) : lane(Lane::kAgain).push_back(id);
  }

  bool has_fresh() const { return !lane(Lane::kSparse).empty() || !lane(Lane::kFresh).empty(); }
  bool has_again() const { return !lane(Lane::kAgain).empty(); }

  // Who sends next. `ready(turn)`: whether that stream has bytes of that kind; where not it is told here that its place
  // is gone. `new_bytes`: whether any may go.
  template <typename Ready>
  std::optional<Turn> next(bool new_bytes, Ready&& ready) {
    const bool sparse_waits = new_bytes && !sparse_was_last_;
    if (const auto turn = sparse_waits ? front(Lane::kSparse, ready) : std::nullopt) return turn;
    if (const auto turn = front(Lane::kAgain, ready)) return turn;
    if (!new_bytes) return std::nullopt;
    if (const auto turn = front(Lane::kSparse, ready)) return turn;
    return front(Lane::kFresh, ready);
  }

  // The stream of the turn has sent so much.
  void sent(const Turn& turn, std::uint64_t bytes) {
    sparse_was_last_ = turn.lane == Lane::kSparse;
    if (turn.lane == Lane::kAgain) return;
    std::uint64_t& run = turn.lane == Lane::kSparse ? sparse_run_ : fresh_run_;
    run += bytes;
    if (run < kRun) return;
    run = 0;
    step_back(turn.lane);
  }

  // Whether `holds` for any of those with new bytes; the others are not asked.
  template <typename Predicate>
  bool any_fresh(Predicate&& holds) const {
    return std::any_of(lane(Lane::kSparse).begin(), lane(Lane::kSparse).end(), holds) ||
           std::any_of(lane(Lane::kFresh).begin(), lane(Lane::kFresh).end(), holds);
  }

 private:
  std::deque<StreamId>& lane(Lane which) { return lanes_[static_cast<std::size_t>(which)]; }
  const std::deque<StreamId>& lane(Lane which) const { return lanes_[static_cast<std::size_t>(which)]; }

  // To the end of kFresh.
  void step_back(Lane from) {
    lane(Lane::kFresh).push_back(lane(from).front());
    lane(from).pop_front();
  }

  template <typename Ready>
  std::optional<Turn> front(Lane which, Ready&& ready) {
    std::deque<StreamId>& queue = lane(which);
    while (!queue.empty()) {
      const Turn turn{which, queue.front()};
      const bool stays = which == Lane::kSparse;
      if (ready(turn)) return turn;
      if (which != Lane::kAgain) (stays ? sparse_run_ : fresh_run_) = 0;
      stays ? step_back(which) : queue.pop_front();
    }
    return std::nullopt;
  }

  std::array<std::deque<StreamId>, 3> lanes_;
  std::uint64_t sparse_run_ = 0;  // bytes that the front of kSparse has sent in its turn
  std::uint64_t fresh_run_ = 0;   // ... of kFresh
  bool sparse_was_last_ = false;
};

}  // namespace mcdtp
