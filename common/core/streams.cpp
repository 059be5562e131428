#include "common/core/streams.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "common/core/check.h"

namespace mcdtp {

Streams::Streams(Role role, ControlQueue& control, std::deque<StreamNews>& news)
    : control_(control),
      news_(news),
      next_own_(role == Role::kClient ? kFirstClientStream : kFirstServerStream),
      next_peer_(role == Role::kClient ? kFirstServerStream : kFirstClientStream) {
  create(kStdio, kInitialStdioWindow).opened = true;
  create(kStderr, kInitialStdioWindow).opened = true;
}

Stream& Streams::create(StreamId id, std::uint64_t initial_window) {
  Stream& stream = streams_.try_emplace(id, sending_, receiving_, initial_window).first->second;
  account(stream);
  return stream;
}

Stream* Streams::find(StreamId id) {
  const auto it = streams_.find(id);
  return it == streams_.end() ? nullptr : &it->second;
}

const Stream* Streams::find(StreamId id) const { return const_cast<Streams*>(this)->find(id); }

// ---- the user's side ----

StreamId Streams::open(std::string target) {
  CHECK(can_open() && target.size() <= kMaxTargetSize);
  const StreamId id = next_own_;
  next_own_ += 2;
  Stream& stream = create(id, kInitialStreamWindow);
  stream.opened = true;
  control_.push(OpenFrame{id, std::move(target)});
  renew_credit(id, stream);
  return id;
}

MutableBytes Streams::write_room(StreamId id) {
  std::array<MutableBytes, 1> room;
  return write_rooms(id, room) == 1 ? room[0] : MutableBytes{};
}

std::size_t Streams::write_rooms(StreamId id, std::span<MutableBytes> rooms) {
  Stream* stream = find(id);
  if (stream == nullptr || !stream->send.writable()) return 0;
  std::size_t count = 0, skip = 0;
  for (; count < rooms.size() && may_write(*stream, skip); skip += rooms[count++].size()) {
    rooms[count] = stream->send.room(skip);
  }
  if (count == 0) {
    stream->writer_waits = stream->writer_ahead = true;
    if (stream->send.buffered() == 0) wait_for_memory_.insert(id);
  }
  return count;
}

void Streams::wrote(StreamId id, std::size_t size) {
  Stream& stream = streams_.at(id);
  stream.send.wrote(size);
  queue_fresh(id, stream);
}

bool Streams::end_writing(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || !stream->send.writable()) return false;
  stream->send.finish();
  stream->fin_queued = true;
  return true;
}

void Streams::finish(StreamId id) {
  if (end_writing(id)) control_.push(FinFrame{id, find(id)->send.end()});
}

void Streams::break_off(StreamId id) {
  if (end_writing(id)) control_.push(ResetFrame{id, find(id)->send.end(), ResetReason::kBrokenOff});
}

void Streams::reset(StreamId id, ResetReason reason) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->send.is_reset() || stream->send_done) return;
  stream->send.reset();
  stream->send_done = true;
  control_.push(ResetFrame{id, stream->send.end(), reason});
  wake_writers();
  forget_if_done(id);
}

void Streams::reached(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->reached) return;
  stream->reached = true;
  control_.push(OpenedFrame{id});
}

void Streams::refuse(StreamId id, ResetReason reason) {
  reset(id, reason);
  release(id);
}

Bytes Streams::readable(StreamId id, std::size_t skip) {
  Stream* stream = find(id);
  if (stream == nullptr) return {};
  stream->readable_told = false;
  return stream->recv.readable_at(skip);
}

void Streams::consume(StreamId id, std::size_t size) {
  Stream* stream = find(id);
  if (stream == nullptr || size == 0) return;
  stream->recv.consume(size);
  session_consumed_ += size;
  renew_credit(id, *stream);
  wake_writers();
}

void Streams::stop(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->stopped) return;
  stream->stopped = true;
  if (!stream->recv.all_received()) control_.push(StopFrame{id});
  consume(id, static_cast<std::size_t>(stream->recv.readable_size()));
}

bool Streams::read_to_end(StreamId id) const {
  const Stream* stream = find(id);
  return stream == nullptr || stream->recv.all_consumed();
}

void Streams::release(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  if (!stream->recv.all_consumed()) stop(id);
  stream->released = true;
  if (stream->send.writable()) return reset(id);
  forget_if_done(id);
}

bool Streams::was_reset(StreamId id) const {
  const Stream* stream = find(id);
  return stream != nullptr && stream->recv.is_reset();
}

bool Streams::all_received(StreamId id) const {
  const Stream* stream = find(id);
  return stream == nullptr || stream->recv.all_received();
}

bool Streams::was_broken_off(StreamId id) const {
  const Stream* stream = find(id);
  return stream != nullptr && stream->broken_off;
}

bool Streams::gave_up(StreamId id) const {
  const Stream* stream = find(id);
  return stream != nullptr && stream->send.is_reset();
}

ResetReason Streams::reset_reason(StreamId id) const {
  CHECK(was_reset(id));
  return find(id)->reason;
}

// ---- the sender's side ----

void Streams::queue_fresh(StreamId id, Stream& stream) {
  if (stream.in_fresh || !stream.send.has_new_in_credit()) return;
  stream.in_fresh = true;
  turns_.add_fresh(id);
}

void Streams::queue_again(StreamId id, Stream& stream) {
  if (stream.in_again || !stream.send.has_requeued()) return;
  stream.in_again = true;
  turns_.add_again(id, stream.send.buffered() <= Turns::kRun);
}

bool Streams::has_ahead(std::uint64_t bytes) const {
  if (session_room() < bytes) return false;
  std::uint64_t sum = 0;
  return turns_.any_fresh([&](StreamId id) {
    const Stream* stream = find(id);
    if (stream == nullptr) return false;
    const bool more = stream->writer_ahead && stream->send.writable();
    const std::uint64_t room = stream->send.credit_left();
    sum += more ? room : std::min(room, stream->send.unsent());
    return sum >= bytes;
  });
}

bool Streams::is_ready(const Turns::Turn& turn) {
  Stream* stream = find(turn.stream);
  if (stream == nullptr) return false;
  const bool again = turn.lane == Turns::Lane::kAgain;
  if (again ? stream->send.has_requeued() : stream->send.has_new_in_credit()) return true;
  if (again) stream->in_again = false;
  if (turn.lane == Turns::Lane::kFresh) stream->in_fresh = false;
  return false;
}

std::optional<Streams::Piece> Streams::take(std::size_t room) {
  const auto turn = turns_.next(session_room() > 0, [&](const Turns::Turn& next) { return is_ready(next); });
  if (!turn) return std::nullopt;
  Stream& stream = streams_.at(turn->stream);
  const std::size_t head = data_overhead(turn->stream, stream.send.next_piece(), room);
  if (room <= head) return std::nullopt;
  const auto piece = stream.send.take(room - head, session_room());
  CHECK(piece);
  turns_.sent(*turn, piece->size);
  if (piece->again) {
    resent_ += piece->size;
    return Piece{turn->stream, *piece};
  }
  session_sent_ += piece->size;
  tell_writable(turn->stream, stream);
  return Piece{turn->stream, *piece};
}

void Streams::copy(const Piece& piece, MutableBytes out) {
  streams_.at(piece.stream).send.copy(piece.piece, out);
}

std::optional<Streams::Piece> Streams::once_more(const DataRef& ref) {
  const Stream* stream = find(ref.stream);
  if (stream == nullptr || stream->send_done || !stream->send.holds(ref.offset)) return std::nullopt;
  return Piece{ref.stream, {ref.offset, ref.size, true}};
}

void Streams::covered(const DataRef& ref) {
  Stream* stream = find(ref.stream);
  if (stream == nullptr) return;
  stream->send.covered(ref.offset, ref.size);
  tell_writable(ref.stream, *stream);
  wake_writers();
}

void Streams::requeue(const DataRef& ref) {
  Stream* stream = find(ref.stream);
  if (stream == nullptr || stream->send_done) return;
  stream->send.requeue(ref.offset, ref.size);
  queue_again(ref.stream, *stream);
}

void Streams::withdraw(const DataRef& ref) {
  if (Stream* stream = find(ref.stream)) stream->send.withdraw(ref.offset, ref.size);
}

std::optional<ControlFrame> Streams::renewed(const ControlFrame& frame) {
  if (const auto* credit = std::get_if<StreamCreditFrame>(&frame)) {
    const Stream* stream = find(credit->stream);
    if (stream == nullptr || !stream->recv.wants_credit()) return std::nullopt;
    return StreamCreditFrame{credit->stream, stream->window.limit()};
  }
  if (std::holds_alternative<SessionCreditFrame>(frame)) return SessionCreditFrame{session_window_.limit()};
  return frame;
}

bool Streams::delivered() const {
  return std::all_of(streams_.begin(), streams_.end(),
                     [this](const auto& entry) { return entry.first <= kStderr || delivered(entry.first); });
}

bool Streams::delivered(StreamId id) const {
  const Stream* stream = find(id);
  return stream == nullptr || stream->send_done || stream->send.end() == 0;
}

std::uint64_t Streams::buffered() const {
  std::uint64_t sum = 0;
  for (const auto& [id, stream] : streams_) sum += stream.send.buffered();
  return sum;
}

// ---- news, and the end ----

void Streams::tell_readable(StreamId id, Stream& stream) {
  if (stream.readable_told) return;
  stream.readable_told = true;
  news_.push_back({StreamNews::Kind::kReadable, id, {}});
}

void Streams::after_receive(StreamId id, Stream& stream) {
  if (stream.recv.all_received() && !stream.complete_queued) {
    stream.complete_queued = true;
    control_.push(CompleteFrame{id});
  }
  if (stream.stopped) {
    consume(id, static_cast<std::size_t>(stream.recv.readable_size()));
    return forget_if_done(id);
  }
  if (stream.opened && (stream.recv.readable_size() > 0 || stream.recv.all_consumed()))
    tell_readable(id, stream);
}

void Streams::forget_if_done(StreamId id) {
  const Stream* stream = find(id);
  if (stream != nullptr && stream->released && stream->send_done && stream->recv.all_consumed()) forget(id);
}

void Streams::forget(StreamId id) {
  const Stream& stream = streams_.at(id);
  committed_ -= stream.committed;
  excess_ -= stream.excess;
  wait_for_memory_.erase(id);
  streams_.erase(id);
  wake_writers();
}

}  // namespace mcdtp
