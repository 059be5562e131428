#pragma once

#include <deque>

#include "common/core/wire.h"

namespace mcdtp {

// Control frames that wait for a packet, oldest first. Credit for one stream, and for the session, stands in it
// once: the newest replaces the older.
class ControlQueue {
 public:
  void push(ControlFrame frame) {
    for (ControlFrame& waiting : frames_) {
      if (supersedes(frame, waiting)) {
        waiting = std::move(frame);
        return;
      }
    }
    frames_.push_back(std::move(frame));
  }
  // REQUIRES: !empty().
  const ControlFrame& front() const { return frames_.front(); }
  void pop() { frames_.pop_front(); }
  bool empty() const { return frames_.empty(); }

 private:
  static bool supersedes(const ControlFrame& newer, const ControlFrame& older) {
    if (newer.index() != older.index()) return false;
    if (const auto* credit = std::get_if<StreamCreditFrame>(&newer)) {
      return credit->stream == std::get<StreamCreditFrame>(older).stream;
    }
    return std::holds_alternative<SessionCreditFrame>(newer) || newer == older;
  }

  std::deque<ControlFrame> frames_;
};

}  // namespace mcdtp
