#include "common/core/packetizer.h"

#include <algorithm>

namespace mcdtp {

void Packetizer::ping() {
  write_ping(out_);
  asks_ = true;
}

void Packetizer::report(Time now, Channel& channel) {
  Receipts& receipts = channel.receipts;
  const ReportFrame newest = receipts.build(now, channel.id());
  const std::size_t room = out_.remaining();
  const bool split = receipts.older_turn() && room >= 2 * kMinReportSize;
  receipts.written(write_report(out_, newest, split ? room / 2 : room));
  if (split && receipts.older_turn())
    receipts.written_older(write_report(out_, receipts.build_older(channel.id()), out_.remaining()));
}

void Packetizer::floor(Time now, Channel& channel) {
  if (out_.remaining() < kMaxFloorSize) return;
  write_floor(out_, {channel.id(), channel.sent.first(), channel.report_interval()});
  channel.floor_sent(now);
}

void Packetizer::control(ControlQueue& queue) {
  while (!queue.empty() && encoded_size(queue.front()) <= out_.remaining()) {
    write_frame(out_, queue.front());
    cargo_.add(queue.front());
    queue.pop();
    asks_ = true;
  }
}

void Packetizer::data(Streams& streams) {
  while (const auto piece = streams.take(out_.remaining())) {
    const auto& [offset, size, again] = piece->piece;
    streams.copy(*piece, write_data(out_, piece->stream, offset, size));
    cargo_.add(DataRef{piece->stream, offset, static_cast<std::uint32_t>(size)});
    has_data_ = asks_ = true;
    carries_requeued_ = carries_requeued_ || again;
  }
}

void Packetizer::pad(std::size_t size) {
  const std::size_t padding = size > out_.size() ? std::min(size - out_.size(), out_.remaining()) : 0;
  const MutableBytes zeros = out_.reserve(padding);
  std::fill(zeros.begin(), zeros.end(), std::uint8_t{0});
}

}  // namespace mcdtp
