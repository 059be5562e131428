#include <algorithm>
#include <iterator>

#include "common/core/streams.h"

// Whose bytes may be kept, on either side: see MemoryShares.
namespace mcdtp {
namespace {

// A stream may have credit for so many times what has come of it; stdio, once anything has, for what a start-up asks for.
constexpr std::uint64_t kAhead = 16;

}  // namespace

// Shares of another size count what was given out before anew; and the session may have been held at the least.
void Streams::set_memory(std::uint64_t bytes) {
  shares_ = MemoryShares(bytes);
  most_session_window_ = bytes;
  for (auto& [id, stream] : streams_) account(stream);
  renew_session_credit();
}

// A peer may grant any credit and report nothing: what we keep for it is bounded all the same.
bool Streams::may_write(const Stream& stream, std::size_t skip) const {
  // What cannot be sent now may wait with its writer.
  const std::uint64_t ahead =
      std::clamp<std::uint64_t>(stream.send.credit_left(), BlockPool::kBlockSize, kWriteAhead);
  if (stream.send.unsent() + skip >= ahead) return false;
  if (stream.send.has_block(skip)) return true;
  const std::uint64_t then = held() + BlockPool::kBlockSize;
  if (stream.send.buffered() + skip == 0) return then <= shares_.for_sending(credit_out());
  return then <= shares_.one_stream_sends(credit_out(), streams_.size());
}

void Streams::tell_writable(StreamId id, Stream& stream) {
  if (stream.send.unsent() == 0) stream.writer_ahead = false;
  if (!stream.writer_waits) return;
  if (!may_write(stream, 0)) {
    if (stream.send.buffered() == 0) wait_for_memory_.insert(id);
    return;
  }
  stream.writer_waits = false;
  news_.push_back({StreamNews::Kind::kWritable, id, {}});
}

// What one stream lets go another may need.
void Streams::wake_writers() {
  if (held() + BlockPool::kBlockSize > shares_.for_sending(credit_out())) return;
  for (auto it = wait_for_memory_.begin(); it != wait_for_memory_.end();) {
    Stream* stream = find(*it);
    if (stream != nullptr) tell_writable(*it, *stream);
    it = stream == nullptr || !stream->writer_waits ? wait_for_memory_.erase(it) : std::next(it);
  }
}

void Streams::account(Stream& stream) {
  const std::uint64_t end = stream.recv.wants_credit() ? stream.window.limit() : stream.recv.highest();
  committed_ -= stream.committed;
  excess_ -= stream.excess;
  stream.committed = end - stream.recv.consumed();
  stream.excess = stream.committed - std::min(stream.committed, shares_.reserve());
  committed_ += stream.committed;
  excess_ += stream.excess;
}

// A stream may go as far ahead as what has arrived of late asks for, and, so that many small ones keep little, as it
// has shown to need itself; within what is free.
void Streams::renew_credit(StreamId id, Stream& stream) {
  account(stream);
  if (stream.recv.wants_credit()) {
    const bool begins = id <= kStderr && stream.recv.highest() > 0;
    const std::uint64_t first = begins ? WindowTuner::kLeastGrown : 0;
    const std::uint64_t ahead = std::max(shares_.first_window() + kAhead * stream.recv.highest(), first);
    const std::uint64_t wanted = std::min(tuner_.window(), ahead);
    const std::uint64_t free =
        shares_.stream_window(shares_.session_window(held()), streams_.size(), excess_ - stream.excess);
    const auto limit =
        stream.window.renew(stream.recv.consumed(), stream.recv.highest(), std::min(wanted, free));
    if (limit) {
      stream.recv.raise_credit(*limit);
      control_.push(StreamCreditFrame{id, *limit});
      account(stream);
    }
  }
  renew_session_credit();
}

// Twice what the streams may send, so that it never holds up one of them before its own credit does.
void Streams::renew_session_credit() {
  const std::uint64_t window = std::min({shares_.session_window(held()), most_session_window_,
                                         std::max(kInitialSessionWindow, 2 * committed_)});
  if (const auto limit = session_window_.renew(session_consumed_, session_highest_, window))
    control_.push(SessionCreditFrame{*limit});
}

// A stream whose reader is slower than the path needs no more.
void Streams::grow_windows() {
  for (auto& [id, stream] : streams_) {
    if (stream.recv.readable_size() <= stream.committed / 2) renew_credit(id, stream);
  }
}

}  // namespace mcdtp
