#include "tests/wan/flow_log.h"

#include <sstream>

namespace mcdtp::wan {
namespace {

const char* name(Protocol protocol) {
  switch (protocol) {
    case Protocol::kUdp: return "udp";
    case Protocol::kTcp: return "tcp";
    case Protocol::kOther: break;
  }
  return "other";
}

}  // namespace

void FlowLog::add(Time now, Protocol protocol, Ports ports, std::uint64_t bytes) {
  Row& counted = row((now - start_) / interval_, protocol, ports);
  ++counted.packets;
  counted.bytes += bytes;
}

FlowLog::Row& FlowLog::row(std::int64_t interval, Protocol protocol, Ports ports) {
  auto is_it = [&](const Row& row) {
    return row.interval == interval && row.protocol == protocol && row.ports == ports;
  };
  if (last_ < rows_.size() && is_it(rows_[last_])) return rows_[last_];
  if (rows_.empty() || rows_.back().interval != interval) newest_ = rows_.size();
  for (last_ = newest_; last_ < rows_.size(); ++last_)
    if (is_it(rows_[last_])) return rows_[last_];
  rows_.push_back({interval, protocol, ports, 0, 0});
  return rows_.back();
}

std::string FlowLog::lines(const std::string& direction) const {
  std::ostringstream out;
  for (const Row& row : rows_)
    out << to_seconds(interval_ * (row.interval + 1)) << ',' << direction << ',' << name(row.protocol) << ','
        << row.ports.source << ',' << row.ports.destination << ',' << row.packets << ',' << row.bytes << '\n';
  return out.str();
}

}  // namespace mcdtp::wan
