#include "common/core/streams.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "common/core/check.h"

namespace mcdtp {
namespace {

// Bytes that a stream may send before the next one has its turn.
constexpr std::uint64_t kStreamRun = 16 * 1024;

}  // namespace

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

Stream* Streams::find_or_create(StreamId id) {
  if (id < next_peer_ || id % 2 != next_peer_ % 2) return find(id);
  if (streams_.size() + (id - next_peer_) / 2 >= shares_.max_streams()) return nullptr;
  for (; next_peer_ <= id; next_peer_ += 2) create(next_peer_, kInitialStreamWindow);
  return find(id);
}

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
    wait_for_memory_.insert(id);
  }
  return count;
}

void Streams::wrote(StreamId id, std::size_t size) {
  Stream& stream = streams_.at(id);
  stream.send.wrote(size);
  queue_fresh(id, stream);
}

void Streams::finish(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || !stream->send.writable()) return;
  stream->send.finish();
  stream->fin_queued = true;
  control_.push(FinFrame{id, stream->send.end()});
}

void Streams::reset(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->send.is_reset() || stream->send_done) return;
  stream->send.reset();
  stream->send_done = true;
  control_.push(ResetFrame{id, stream->send.end()});
  wake_writers();
  forget_if_done(id);
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

// ---- the sender's side ----

void Streams::queue_fresh(StreamId id, Stream& stream) {
  if (stream.in_fresh || !stream.send.has_new_in_credit()) return;
  stream.in_fresh = true;
  fresh_.push_back(id);
}

void Streams::queue_again(StreamId id, Stream& stream) {
  if (stream.in_again || !stream.send.has_requeued()) return;
  stream.in_again = true;
  again_.push_back(id);
}

std::uint64_t Streams::ahead() const {
  std::uint64_t sum = 0;
  for (const StreamId id : fresh_) {
    const Stream* stream = find(id);
    if (stream == nullptr) continue;
    const bool more = stream->writer_ahead && stream->send.writable();
    const std::uint64_t room =
        stream->send.credit() - std::min(stream->send.credit(), stream->send.next_offset());
    sum += more ? room : std::min(room, stream->send.unsent());
    if (sum >= session_room()) return session_room();
  }
  return sum;
}

std::optional<Streams::Piece> Streams::take(std::size_t room) {
  while (!again_.empty()) {
    Stream* stream = find(again_.front());
    if (stream != nullptr && stream->send.has_requeued()) return take_from(again_, room);
    if (stream != nullptr) stream->in_again = false;
    again_.pop_front();
  }
  while (!fresh_.empty()) {
    Stream* stream = find(fresh_.front());
    if (stream != nullptr && stream->send.has_new_in_credit()) {
      return session_room() > 0 ? take_from(fresh_, room) : std::nullopt;
    }
    if (stream != nullptr) stream->in_fresh = false;
    fresh_.pop_front();
    run_ = 0;
  }
  return std::nullopt;
}

std::optional<Streams::Piece> Streams::take_from(std::deque<StreamId>& queue, std::size_t room) {
  const StreamId id = queue.front();
  Stream& stream = streams_.at(id);
  const std::size_t head = data_overhead(id, stream.send.next_piece(), room);
  if (room <= head) return std::nullopt;
  const auto piece = stream.send.take(room - head, session_room());
  CHECK(piece);
  if (piece->again) {
    resent_ += piece->size;
    return Piece{id, *piece};
  }
  session_sent_ += piece->size;
  run_ += piece->size;
  if (run_ >= kStreamRun) {
    queue.push_back(id);
    queue.pop_front();
    run_ = 0;
  }
  tell_writable(id, stream);
  return Piece{id, *piece};
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

std::optional<ControlFrame> Streams::renewed(const ControlFrame& frame) {
  if (const auto* credit = std::get_if<StreamCreditFrame>(&frame)) {
    const Stream* stream = find(credit->stream);
    if (stream == nullptr || !stream->recv.wants_credit()) return std::nullopt;
    return StreamCreditFrame{credit->stream, stream->window.limit()};
  }
  if (std::holds_alternative<SessionCreditFrame>(frame)) return SessionCreditFrame{session_window_.limit()};
  return frame;
}

std::uint64_t Streams::buffered() const {
  std::uint64_t sum = 0;
  for (const auto& [id, stream] : streams_) sum += stream.send.buffered();
  return sum;
}

// ---- the peer's frames ----

std::optional<std::string> Streams::absent(StreamId id) const {
  const StreamId next = id % 2 == next_peer_ % 2 ? next_peer_ : next_own_;
  if (id < next) return std::nullopt;
  return "stream " + std::to_string(id) + " cannot be";
}

std::optional<std::string> Streams::fault(StreamId id, RecvStream::Verdict verdict) const {
  const std::string name = "stream " + std::to_string(id);
  switch (verdict) {
    case RecvStream::Verdict::kOverCredit: return name + " went beyond its credit";
    case RecvStream::Verdict::kAgainstFinalSize: return name + " contradicts its final size";
    case RecvStream::Verdict::kTooManyHoles: return name + " has too many holes";
    case RecvStream::Verdict::kTaken: break;
  }
  return std::nullopt;
}

std::optional<std::string> Streams::on_data(Time now, const DataFrame& frame, Duration rtt) {
  Stream* stream = find_or_create(frame.stream);
  if (stream == nullptr) return absent(frame.stream);
  holes_ -= stream->recv.holes();
  const RecvStream::Outcome outcome = stream->recv.on_data(frame.offset, frame.data);
  holes_ += stream->recv.holes();
  if (holes_ > shares_.max_holes()) return "the session has too many holes";
  if (auto wrong = fault(frame.stream, outcome.verdict)) return wrong;
  session_highest_ += outcome.highest_rose_by;
  if (session_highest_ > session_window_.limit()) return "the session went beyond its credit";
  if (tuner_.on_arrived(now, outcome.highest_rose_by, rtt)) grow_windows();
  after_receive(frame.stream, *stream);
  return std::nullopt;
}

std::optional<std::string> Streams::on_fin(const FinFrame& frame) {
  Stream* stream = find_or_create(frame.stream);
  if (stream == nullptr) return absent(frame.stream);
  if (auto wrong = fault(frame.stream, stream->recv.on_fin(frame.final_size).verdict)) return wrong;
  after_receive(frame.stream, *stream);
  return std::nullopt;
}

std::optional<std::string> Streams::on_reset(const ResetFrame& frame) {
  Stream* stream = find_or_create(frame.stream);
  if (stream == nullptr) return absent(frame.stream);
  const std::uint64_t consumed_before = stream->recv.consumed();
  holes_ -= stream->recv.holes();
  const RecvStream::Outcome outcome = stream->recv.on_reset(frame.final_size);
  holes_ += stream->recv.holes();
  if (auto wrong = fault(frame.stream, outcome.verdict)) return wrong;
  session_highest_ += outcome.highest_rose_by;
  if (session_highest_ > session_window_.limit()) return "the session went beyond its credit";
  session_consumed_ += stream->recv.consumed() - consumed_before;
  renew_credit(frame.stream, *stream);
  after_receive(frame.stream, *stream);
  return std::nullopt;
}

std::optional<std::string> Streams::on_open(const OpenFrame& frame) {
  const bool known = frame.stream < next_peer_;
  Stream* stream = find_or_create(frame.stream);
  if (stream == nullptr && !known) return "a stream was opened under a number that is not the peer's";
  if (stream == nullptr || stream->opened) return std::nullopt;
  stream->opened = true;
  news_.push_back({StreamNews::Kind::kOpened, frame.stream, frame.target});
  if (stream->send.is_reset()) news_.push_back({StreamNews::Kind::kStopped, frame.stream, {}});
  renew_credit(frame.stream, *stream);
  after_receive(frame.stream, *stream);
  return std::nullopt;
}

// STOP and credit may overtake the OPEN of their stream, and are said once: they make the stream, too.
void Streams::on_stop(const StopFrame& frame) {
  Stream* stream = find_or_create(frame.stream);
  if (stream == nullptr || stream->send_done) return;
  if (stream->opened) news_.push_back({StreamNews::Kind::kStopped, frame.stream, {}});
  reset(frame.stream);
}

void Streams::on_stream_credit(const StreamCreditFrame& frame) {
  Stream* stream = find_or_create(frame.stream);
  if (stream == nullptr) return;
  stream->send.raise_credit(frame.limit);
  queue_fresh(frame.stream, *stream);
  tell_writable(frame.stream, *stream);
}

void Streams::on_session_credit(const SessionCreditFrame& frame) {
  session_limit_ = std::max(session_limit_, frame.limit);
}

void Streams::on_complete(const CompleteFrame& frame) {
  Stream* stream = find(frame.stream);
  if (stream == nullptr || !stream->fin_queued || stream->send.next_offset() != stream->send.end()) return;
  stream->send.complete();
  stream->send_done = true;
  wake_writers();
  forget_if_done(frame.stream);
}

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
}

}  // namespace mcdtp
