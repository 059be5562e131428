#include "common/io/forwarder.h"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

namespace mcdtp {

std::string sentence_of(ResetReason reason) {
  switch (reason) {
    case ResetReason::kGivenUp: return "Connection reset by peer";
    case ResetReason::kProhibited: return "administratively prohibited";
    case ResetReason::kRefused: return "Connection refused";
    case ResetReason::kUnreachable: return "No route to host";
    case ResetReason::kNetworkUnreachable: return "Network is unreachable";
    case ResetReason::kNoAnswer: return "Connection timed out";
    case ResetReason::kUnknownName: return "Name or service not known";
    case ResetReason::kNoNameServer: return "Temporary failure in name resolution";
    case ResetReason::kTooMany: return "resource shortage";
    case ResetReason::kBrokenOff: return "Connection reset by peer";
  }
  return "unknown";
}

bool Forwarder::carry(const Entrance& at, std::shared_ptr<Descriptor> socket, const Target& target,
                      Bytes early, Hooks hooks) {
  if (!may_accept(at)) {
    socket->close();
    return false;
  }
  const StreamId stream = driver_.streams().open(format_target(target));
  const bool waits = hooks.on_reached != nullptr;
  Entry& entry = entries_[stream];
  entry.hooks = std::move(hooks);
  entry.waits = at.wait();
  entry.connection = std::make_unique<Connection>(driver_, stream, std::move(socket),
                                                  [this, stream] { erase_later(stream); });
  write_stream(driver_.streams(), stream, early);
  entry.connection->start_reading();
  if (!waits) entry.connection->start_writing();
  driver_.kick();
  return true;
}

Forwarder::Entry& Forwarder::dialing(StreamId stream, Hooks hooks) {
  Entry& entry = entries_[stream];
  entry.hooks = std::move(hooks);
  entry.dialer = std::make_unique<Dialer>(driver_.io(), names_, [this, stream](Dialer::Outcome outcome) {
    on_outcome(stream, std::move(outcome));
  });
  return entry;
}

void Forwarder::dial(StreamId stream, const ToTcp& to, int family, Hooks hooks) {
  dialing(stream, std::move(hooks)).dialer->start(to, family);
}

void Forwarder::dial(StreamId stream, const ToUnix& to, Hooks hooks) {
  dialing(stream, std::move(hooks)).dialer->start(to);
}

void Forwarder::on_outcome(StreamId stream, Dialer::Outcome outcome) {
  Entry& entry = entries_.at(stream);
  if (outcome.socket) return connect(stream, std::move(outcome.socket));
  const bool answered = entry.hooks.on_failed && entry.hooks.on_failed(outcome);
  if (!answered) driver_.streams().reset(stream, outcome.reason);
  driver_.streams().release(stream);
  driver_.kick();
  erase_later(stream);
}

void Forwarder::connect(StreamId stream, std::shared_ptr<Descriptor> socket) {
  Entry& entry = entries_.at(stream);
  entry.dialer.reset();
  driver_.streams().reached(stream);
  if (entry.hooks.on_reached) entry.hooks.on_reached();
  entry.connection = std::make_unique<Connection>(driver_, stream, std::move(socket),
                                                  [this, stream] { erase_later(stream); });
  entry.connection->start_reading();
  // It was told while there was no connection.
  if (driver_.streams().gave_up(stream)) entry.connection->on_news(StreamNews::Kind::kStopped);
  if (drained_) entry.connection->drain();
  entry.connection->start_writing();
  driver_.kick();
}

// An opener that gives up while we connect, and takes nothing any more, is not waited for: unless it has said something
// before it was reset, which a program that was connected at once would have got.
void Forwarder::while_dialing(StreamId stream) {
  const Streams& streams = driver_.streams();
  if (streams.was_reset(stream)) return give_up_dialing(stream);
  if (!streams.gave_up(stream)) return;
  streams.read_to_end(stream) ? give_up_dialing(stream) : dial_a_while(stream);
}

void Forwarder::dial_a_while(StreamId stream) {
  Entry& entry = entries_.at(stream);
  if (entry.patience) return;
  entry.patience = std::make_unique<asio::steady_timer>(driver_.io(), dial_patience_);
  entry.patience->async_wait([this, stream, alive = std::weak_ptr(alive_)](std::error_code error) {
    if (error || alive.expired()) return;
    const auto found = entries_.find(stream);
    if (found != entries_.end() && found->second.dialer) give_up_dialing(stream);
  });
}

void Forwarder::give_up_dialing(StreamId stream) {
  entries_.at(stream).dialer.reset();
  driver_.streams().release(stream);
  erase_later(stream);
}

bool Forwarder::on_news(const StreamNews& news) {
  const auto found = entries_.find(news.stream);
  if (found == entries_.end()) return false;
  Entry& entry = found->second;
  if (!entry.connection) {
    if (entry.dialer) while_dialing(news.stream);
  } else if (!entry.waits || !on_opener_news(entry, news)) {
    entry.connection->on_news(news.kind);
  }
  return true;
}

// True: that is all there is to it.
bool Forwarder::on_opener_news(Entry& entry, const StreamNews& news) {
  if (news.kind == StreamNews::Kind::kReached) {
    entry.waits.reset();
    if (entry.hooks.on_reached) {
      entry.hooks.on_reached();
      entry.connection->start_writing();
    }
    return true;
  }
  if (!driver_.streams().was_reset(news.stream)) return false;
  const ResetReason reason = driver_.streams().reset_reason(news.stream);
  entry.waits.reset();
  // It was reached, and then reset: OPENED may come late.
  if (reason == ResetReason::kGivenUp) {
    entry.connection->abort();
    return true;
  }
  if (entry.hooks.on_failed) entry.hooks.on_failed({nullptr, reason, sentence_of(reason)});
  // As ssh, which reads nothing before the target is reached. A door has told why, and that is to be read.
  entry.hooks.on_reached ? entry.connection->close() : entry.connection->close_unread();
  return true;
}

void Forwarder::drain() {
  drained_ = true;
  std::erase_if(entries_, [this](const auto& entry) { return !drain(entry.first, entry.second); });
}

// False: nothing is left to be done for it.
bool Forwarder::drain(StreamId stream, const Entry& entry) const {
  if (entry.connection) return entry.connection->drain();
  const Streams& streams = driver_.streams();
  return entry.dialer && streams.all_received(stream) && !streams.was_reset(stream);
}

std::uint64_t Forwarder::taken() const {
  std::uint64_t sum = 0;
  for (const auto& [stream, entry] : entries_) sum += entry.connection ? entry.connection->taken() : 0;
  return sum;
}

// Its own calls may still be running.
void Forwarder::erase_later(StreamId stream) {
  asio::post(driver_.io(), [this, stream, alive = std::weak_ptr(alive_)] {
    if (alive.expired() || entries_.erase(stream) == 0) return;
    if (entries_.empty() && on_empty_) on_empty_();
  });
}

void write_stream(Streams& streams, StreamId stream, Bytes bytes) {
  while (!bytes.empty()) {
    const MutableBytes room = streams.write_room(stream);
    if (room.empty()) return streams.reset(stream);
    const std::size_t size = std::min(room.size(), bytes.size());
    std::copy_n(bytes.begin(), size, room.begin());
    streams.wrote(stream, size);
    bytes = bytes.subspan(size);
  }
}

}  // namespace mcdtp
