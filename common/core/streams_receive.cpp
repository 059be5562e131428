#include <algorithm>

#include "common/core/streams.h"

// The peer's frames.
namespace mcdtp {
namespace {

// A peer that names a stream so far beyond the last one opens more than it can have at once.
constexpr std::uint64_t kMostAtOnce = 4096;

}  // namespace

// Streams that the peer may have forgotten already: it has said its last and knows by COMPLETE that we have it, and we have
// said ours.
std::size_t Streams::perhaps_over() const {
  const auto is_perhaps_over = [](const auto& entry) {
    const Stream& stream = entry.second;
    return stream.complete_queued && (stream.fin_queued || stream.send_done);
  };
  return static_cast<std::size_t>(std::count_if(streams_.begin(), streams_.end(), is_perhaps_over));
}

// Where there is no room for one more it is refused, not the session. Those that may be over take no room from others, but
// memory. What is refused is remembered until the peer has said how much it sent in vain, for credit.
Stream* Streams::find_or_create(StreamId id) {
  if (id < next_peer_ || id % 2 != next_peer_ % 2) return find(id);
  const std::uint64_t many = (id - next_peer_) / 2 + 1;
  if (many > kMostAtOnce || refused_.size() + many > 2 * kMostAtOnce) return nullptr;
  std::size_t most = shares_.max_streams();
  if (streams_.size() + many > most)
    most += std::min(shares_.most_beyond(sending_.in_use(), credit_out()), perhaps_over());
  for (; next_peer_ <= id; next_peer_ += 2) {
    if (streams_.size() < most) {
      create(next_peer_, kInitialStreamWindow);
      continue;
    }
    refused_.insert(next_peer_);
    control_.push(ResetFrame{next_peer_, 0, ResetReason::kTooMany});
    control_.push(StopFrame{next_peer_});
  }
  return find(id);
}

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
  if (!stream->recv.wants_credit()) account(*stream);  // its end was known before, and is reached
  if (tuner_.on_arrived(now, outcome.highest_rose_by, rtt)) grow_windows();
  after_receive(frame.stream, *stream);
  return std::nullopt;
}

std::optional<std::string> Streams::on_fin(const FinFrame& frame) {
  Stream* stream = find_or_create(frame.stream);
  if (stream == nullptr) return absent(frame.stream);
  if (auto wrong = fault(frame.stream, stream->recv.on_fin(frame.final_size).verdict)) return wrong;
  account(*stream);  // credit beyond the end is nobody's any more
  after_receive(frame.stream, *stream);
  return std::nullopt;
}

// It ends the stream as FIN does; only what follows the last byte is another thing.
std::optional<std::string> Streams::on_break(const ResetFrame& frame) {
  if (auto wrong = on_fin({frame.stream, frame.final_size})) return wrong;
  if (Stream* stream = find(frame.stream)) stream->broken_off = true;
  return std::nullopt;
}

std::optional<std::string> Streams::on_reset(const ResetFrame& frame) {
  if (frame.reason == ResetReason::kBrokenOff) return on_break(frame);
  Stream* stream = find_or_create(frame.stream);
  if (stream == nullptr) return account_refused(frame);
  const std::uint64_t consumed_before = stream->recv.consumed();
  holes_ -= stream->recv.holes();
  const RecvStream::Outcome outcome = stream->recv.on_reset(frame.final_size);
  holes_ += stream->recv.holes();
  if (auto wrong = fault(frame.stream, outcome.verdict)) return wrong;
  session_highest_ += outcome.highest_rose_by;
  if (session_highest_ > session_window_.limit()) return "the session went beyond its credit";
  session_consumed_ += stream->recv.consumed() - consumed_before;
  if (stream->recv.is_reset()) stream->reason = frame.reason;
  renew_credit(frame.stream, *stream);
  after_receive(frame.stream, *stream);
  return std::nullopt;
}

// What a stream that was refused had sent is taken and gone.
std::optional<std::string> Streams::account_refused(const ResetFrame& frame) {
  if (refused_.erase(frame.stream) == 0) return absent(frame.stream);
  if (frame.final_size > kInitialStreamWindow) return "a stream that was refused went beyond its credit";
  session_highest_ += frame.final_size;
  session_consumed_ += frame.final_size;
  if (session_highest_ > session_window_.limit()) return "the session went beyond its credit";
  renew_session_credit();
  return std::nullopt;
}

std::optional<std::string> Streams::on_open(const OpenFrame& frame) {
  Stream* stream = find_or_create(frame.stream);
  const bool the_peers = frame.stream < next_peer_ && frame.stream % 2 == next_peer_ % 2;
  if (stream == nullptr && !the_peers) return "a stream was opened under a number that is not the peer's";
  if (stream == nullptr || stream->opened) return std::nullopt;
  stream->opened = true;
  news_.push_back({StreamNews::Kind::kOpened, frame.stream, frame.target});
  if (stream->send.is_reset()) news_.push_back({StreamNews::Kind::kStopped, frame.stream, {}});
  renew_credit(frame.stream, *stream);
  after_receive(frame.stream, *stream);
  return std::nullopt;
}

std::optional<std::string> Streams::on_opened(const OpenedFrame& frame) {
  const bool is_open_anyway = frame.stream == kStdio || frame.stream == kStderr;
  if (is_open_anyway || frame.stream % 2 != next_own_ % 2)
    return "the peer said OPENED of a stream that is not ours";
  Stream* stream = find(frame.stream);
  if (stream == nullptr) return absent(frame.stream);
  if (stream->reached) return std::nullopt;
  stream->reached = true;
  news_.push_back({StreamNews::Kind::kReached, frame.stream, {}});
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
  if (stream == nullptr || stream->send_done || !stream->fin_queued ||
      stream->send.next_offset() != stream->send.end())
    return;
  stream->send.complete();
  stream->send_done = true;
  news_.push_back({StreamNews::Kind::kDelivered, frame.stream, {}});
  wake_writers();
  forget_if_done(frame.stream);
}

}  // namespace mcdtp
