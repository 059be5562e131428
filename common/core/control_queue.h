#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "common/core/wire.h"

namespace mcdtp {

// Control frames that wait for a packet, oldest first, each once. Credit for one stream, and for the session, stands in
// it once as well: the newest replaces the older.
class ControlQueue {
 public:
  void push(ControlFrame frame) {
    ++pushed_;
    const ControlFrame place = place_of(frame);
    if (newest_.insert_or_assign(place, std::move(frame)).second) places_.push_back(place);
  }
  // REQUIRES: !empty().
  const ControlFrame& front() const { return newest_.find(places_.front())->second; }
  // REQUIRES: !empty().
  void pop() {
    newest_.erase(places_.front());
    places_.pop_front();
  }
  bool empty() const { return places_.empty(); }
  std::size_t size() const { return places_.size(); }
  // Ever, those included that stood in it already.
  std::uint64_t pushed() const { return pushed_; }

 private:
  // The same for all that replace each other.
  static ControlFrame place_of(ControlFrame frame) {
    if (auto* credit = std::get_if<StreamCreditFrame>(&frame)) credit->limit = 0;
    if (auto* credit = std::get_if<SessionCreditFrame>(&frame)) credit->limit = 0;
    return frame;
  }

  std::deque<ControlFrame> places_;
  std::map<ControlFrame, ControlFrame> newest_;  // by place
  std::uint64_t pushed_ = 0;
};

}  // namespace mcdtp
