#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/core/types.h"
#include "tests/wan/train.h"

namespace mcdtp::wan {

// What each flow of one direction was delivered in each interval since the link's start: the data of a figure that
// shows rate over time.
class FlowLog {
 public:
  FlowLog(Time start, Duration interval) : start_(start), interval_(interval) {}

  // `bytes` of IP. REQUIRES: `now` never goes back.
  void add(Time now, Protocol protocol, Ports ports, std::uint64_t bytes);

  // Lines `end-of-interval,DIRECTION,protocol,source port,destination port,packets,bytes`, seconds with a point;
  // a flow has no line for an interval without packets.
  std::string lines(const std::string& direction) const;

 private:
  struct Row {
    std::int64_t interval = 0;
    Protocol protocol = Protocol::kOther;
    Ports ports;
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
  };

  Row& row(std::int64_t interval, Protocol protocol, Ports ports);

  Time start_;
  Duration interval_;
  std::vector<Row> rows_;   // ordered by interval
  std::size_t newest_ = 0;  // the first row of the newest interval
  std::size_t last_ = 0;    // the row that was counted in last
};

}  // namespace mcdtp::wan
