#include "common/core/packetizer.h"

#include <algorithm>
#include <vector>

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
  write_floor(out_, {channel.id(), channel.sent.first(), channel.wished_interval()});
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
    put(streams, *piece);
  }
}

void Packetizer::put(Streams& streams, const Streams::Piece& piece) {
  const auto& [offset, size, again] = piece.piece;
  streams.copy(piece, write_data(out_, piece.stream, offset, size));
  cargo_.add(DataRef{piece.stream, offset, static_cast<std::uint32_t>(size)});
  has_data_ = asks_ = true;
  carries_requeued_ = carries_requeued_ || again;
}

bool Packetizer::copy(Streams& streams, const Cargo& cargo) {
  std::vector<Streams::Piece> pieces;
  std::size_t size = 0;
  const auto take = [&](const DataRef& ref) {
    const auto piece = streams.once_more(ref);
    if (!piece) return false;
    pieces.push_back(*piece);
    size += data_overhead(ref.stream, ref.offset, ref.size) + ref.size;
    return true;
  };
  if (cargo.data.size > 0 && !take(cargo.data)) return false;
  std::vector<ControlFrame> frames;
  if (cargo.rest) {
    if (!std::all_of(cargo.rest->data.begin(), cargo.rest->data.end(), take)) return false;
    for (const ControlFrame& frame : cargo.rest->control) {
      if (const auto renewed = streams.renewed(frame)) frames.push_back(*renewed);
    }
  }
  for (const ControlFrame& frame : frames) size += encoded_size(frame);
  if (size == 0 || size > out_.remaining()) return false;
  for (const ControlFrame& frame : frames) {
    write_frame(out_, frame);
    cargo_.add(frame);
  }
  for (const Streams::Piece& piece : pieces) put(streams, piece);
  asks_ = true;
  return true;
}

void Packetizer::pad(std::size_t size) {
  const std::size_t padding = size > out_.size() ? std::min(size - out_.size(), out_.remaining()) : 0;
  const MutableBytes zeros = out_.reserve(padding);
  std::fill(zeros.begin(), zeros.end(), std::uint8_t{0});
}

}  // namespace mcdtp
