#include "common/io/pump.h"

#include <algorithm>
#include <asio/post.hpp>
#include <numeric>
#include <utility>

namespace mcdtp {
namespace {

constexpr auto kStderrPause = milliseconds(5);

}  // namespace

// ---- ReadPump ----

ReadPump::ReadPump(Driver& driver, StreamId stream, std::shared_ptr<Descriptor> from,
                   std::function<void()> on_end, From kind)
    : driver_(driver), stream_(stream), from_(std::move(from)), on_end_(std::move(on_end)), kind_(kind) {}

void ReadPump::wait() {
  from_->async_wait_readable([this, alive = std::weak_ptr(alive_)](std::error_code error) {
    if (!error && !alive.expired() && !ended_) read();
  });
}

void ReadPump::read() {
  if (discards_) return read_away();
  for (std::size_t done = 0; done < kBytesPerTurn;) {
    std::array<MutableBytes, kMostRooms> all;
    if (!place_carried()) return wait_for_room();
    if (finishes_) return end_stream(0);
    const auto rooms =
        std::span(all).first(driver_.streams().write_rooms(stream_, std::span(all).first(rooms_)));
    if (rooms.empty()) return wait_for_room();
    const std::size_t asked =
        std::accumulate(rooms.begin(), rooms.end(), std::size_t{0},
                        [](std::size_t sum, MutableBytes room) { return sum + room.size(); });
    const IoResult result = read_message(rooms, asked);
    if (result.status == IoResult::Status::kWouldBlock) break;
    if (result.status != IoResult::Status::kBytes) return end_stream(result.error);
    has_read_ = true;
    driver_.streams().wrote(stream_, result.bytes);
    done += result.bytes;
    rooms_ = std::clamp<std::size_t>(2 * result.bytes / BlockPool::kBlockSize, 1, kMostRooms);
    // What gave less than was asked, and than a pipe holds, is most likely empty: asking again would cost a call.
    if (result.bytes < std::min(asked, Descriptor::kPipeBytes)) break;
  }
  if (!place_carried()) return wait_for_room();
  driver_.kick();
  wait();
}

void ReadPump::wait_for_room() {
  waits_for_room_ = true;
  driver_.kick();
}

// What is longer than `asked`, the bytes of `rooms`, is carried to the next ones. Tells what is in `rooms`.
IoResult ReadPump::read_message(std::span<const MutableBytes> rooms, std::size_t asked) {
  if (asked >= from_->longest_message()) return from_->read(rooms);
  carried_.resize(from_->longest_message());
  std::array<MutableBytes, kMostRooms + 1> all;
  *std::copy(rooms.begin(), rooms.end(), all.begin()) = carried_;
  IoResult result = from_->read(std::span(all).first(rooms.size() + 1));
  carried_.resize(std::max(result.bytes, asked) - asked);
  result.bytes = std::min(result.bytes, asked);
  return result;
}

// False: there is no room for all of it.
bool ReadPump::place_carried() {
  while (!carried_.empty()) {
    const MutableBytes room = driver_.streams().write_room(stream_);
    if (room.empty()) return false;
    const auto end = carried_.begin() + static_cast<std::ptrdiff_t>(std::min(room.size(), carried_.size()));
    std::copy(carried_.begin(), end, room.begin());
    driver_.streams().wrote(stream_, static_cast<std::size_t>(end - carried_.begin()));
    carried_.erase(carried_.begin(), end);
  }
  return true;
}

void ReadPump::finish() {
  if (ended_) return;
  if (place_carried()) return end_stream(0);
  finishes_ = true;
  wait_for_room();
}

void ReadPump::end_stream(int error) {
  if (kind_ == From::kSocket && error != 0) broken_ = true;
  broken_ ? driver_.streams().break_off(stream_) : driver_.streams().finish(stream_);
  end();
}

void ReadPump::read_away() {
  std::array<std::uint8_t, 16 * 1024> nowhere;
  for (std::size_t done = 0; done < kBytesPerTurn;) {
    const IoResult result = from_->read(nowhere);
    if (result.status == IoResult::Status::kWouldBlock) break;
    if (result.status != IoResult::Status::kBytes) return end_stream(result.error);
    thrown_away_ += result.bytes;
    done += result.bytes;
  }
  wait();
}

void ReadPump::discard() {
  if (ended_ || std::exchange(discards_, true)) return;
  carried_.clear();
  if (std::exchange(waits_for_room_, false)) wait();
}

void ReadPump::on_writable() {
  if (ended_ || !waits_for_room_) return;
  waits_for_room_ = false;
  read();
}

void ReadPump::on_stopped() {
  if (!ended_) end();
}

void ReadPump::end() {
  ended_ = true;
  close();
  driver_.kick();
  on_end_();
}

void ReadPump::close() {
  if (kind_ == From::kPipe && from_->is_open()) from_->close();
}

// ---- sinks ----

IoResult StderrSink::write(std::span<const iovec> buffers) {
  const iovec& first = buffers.front();
  const Bytes bytes{static_cast<const std::uint8_t*>(first.iov_base), first.iov_len};
  const IoResult result = is_lost_ ? IoResult{IoResult::Status::kEnd, 0, 0} : try_write_stderr(bytes);
  if (result.status == IoResult::Status::kBytes || result.status == IoResult::Status::kWouldBlock)
    return result;
  is_lost_ = true;
  return {IoResult::Status::kBytes, bytes.size(), 0};
}

void StderrSink::async_wait_writable(WaitHandler handler) {
  timer_.expires_after(kStderrPause);
  timer_.async_wait(std::move(handler));
}

// ---- WritePump ----

WritePump::WritePump(Driver& driver, StreamId stream, std::unique_ptr<Sink> to,
                     std::function<void(End)> on_end)
    : driver_(driver), stream_(stream), to_(std::move(to)), on_end_(std::move(on_end)) {}

std::size_t WritePump::gather(std::array<iovec, kBuffers>& buffers) {
  std::size_t count = 0, skip = 0;
  for (; count < buffers.size(); ++count) {
    const Bytes bytes = driver_.streams().readable(stream_, skip);
    if (bytes.empty()) break;
    buffers[count] = {const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    skip += bytes.size();
  }
  return count;
}

void WritePump::on_readable() {
  if (ended_ || waiting_) return;
  for (int writes = 0; writes < kWritesPerTurn; ++writes) {
    std::array<iovec, kBuffers> buffers;
    const std::size_t count = gather(buffers);
    if (count == 0) {
      if (!driver_.streams().read_to_end(stream_)) return;
      const bool cut = driver_.streams().was_reset(stream_) || driver_.streams().was_broken_off(stream_);
      return end({!cut, 0});
    }
    if (!write_some({buffers.data(), count})) return;
  }
  // More is there: the others first.
  waiting_ = true;
  asio::post(driver_.io(), [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    waiting_ = false;
    on_readable();
  });
}

bool WritePump::write_some(std::span<const iovec> buffers) {
  const IoResult result = to_->write(buffers);
  switch (result.status) {
    case IoResult::Status::kBytes:
      driver_.streams().consume(stream_, result.bytes);
      driver_.kick();
      return true;
    case IoResult::Status::kWouldBlock: wait(); return false;
    case IoResult::Status::kEnd: break;
    case IoResult::Status::kError: break;
  }
  driver_.streams().stop(stream_);
  end({false, result.status == IoResult::Status::kError ? result.error : 0});
  return false;
}

void WritePump::wait() {
  waiting_ = true;
  to_->async_wait_writable([this, alive = std::weak_ptr(alive_)](std::error_code error) {
    if (error || alive.expired()) return;
    waiting_ = false;
    on_readable();
  });
}

void WritePump::stop() {
  if (ended_) return;
  driver_.streams().stop(stream_);
  end({});
}

void WritePump::end(End how) {
  ended_ = true;
  how.whole ? to_->finish() : to_->abandon();
  driver_.kick();
  on_end_(how);
}

}  // namespace mcdtp
