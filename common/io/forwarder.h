#pragma once

#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "common/core/target.h"
#include "common/io/connection.h"
#include "common/io/dialer.h"

namespace mcdtp {

// The connections that streams carry: those that came in here, for which we open a stream, and those that we make for
// the peer's streams. Decides nothing: who may go where is its owner's affair.
class Forwarder {
 public:
  // What to do at the turning points of one connection; each may be empty.
  struct Hooks {
    // The target is reached: before the first byte from there goes on.
    std::function<void()> on_reached;
    // It is not, and will not be. The stream is given up for that reason after this, unless this returns true: then
    // what was written to the stream, and finished, still goes out.
    std::function<bool(const Dialer::Outcome&)> on_failed;
  };

  // `on_empty`: the last connection has ended.
  explicit Forwarder(Driver& driver, std::function<void()> on_empty = {})
      : driver_(driver), names_(driver.io()), on_empty_(std::move(on_empty)) {}

  // Carries `socket` by a new stream. What it sends goes out at once, after `early`; what comes for it waits for the
  // target where there is an on_reached. False: no more streams, and the socket is closed.
  // REQUIRES: is_sayable(target).
  bool carry(std::shared_ptr<Descriptor> socket, const Target& target, Bytes early = {}, Hooks hooks = {});
  // Connects the peer's stream, or says on it why not. REQUIRES: the stream is not here yet.
  void dial(StreamId stream, const ToTcp& to, int family, Hooks hooks = {});
  void dial(StreamId stream, const ToUnix& to, Hooks hooks = {});
  // False: it is none of ours.
  bool on_news(const StreamNews& news);

  // The peer is gone: what it has said to the end of a connection still goes there, even if that is yet to be made; all
  // others end.
  void drain();

  bool may_accept() const { return driver_.streams().can_open(); }
  // Connections under way.
  std::size_t count() const { return entries_.size(); }
  // Changes whenever a program takes something.
  std::uint64_t taken() const;

 private:
  // Of one stream: exactly one of `dialer` and `connection` is there, but for the moment between.
  struct Entry {
    Hooks hooks;
    bool reached = false;
    std::unique_ptr<Dialer> dialer;
    // Set: the opener was reset after it had said something, which goes out if the target is reached by then.
    std::unique_ptr<asio::steady_timer> patience;
    std::unique_ptr<Connection> connection;
  };

  Entry& dialing(StreamId stream, Hooks hooks);
  void on_outcome(StreamId stream, Dialer::Outcome outcome);
  void connect(StreamId stream, std::shared_ptr<Descriptor> socket);
  void while_dialing(StreamId stream);
  void dial_a_while(StreamId stream);
  bool drain(StreamId stream, const Entry& entry) const;
  void give_up_dialing(StreamId stream);
  bool on_opener_news(Entry& entry, const StreamNews& news);
  void erase_later(StreamId stream);

  Driver& driver_;
  NameLookup names_;
  std::function<void()> on_empty_;
  std::map<StreamId, Entry> entries_;
  bool drained_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

// The far side's reason, in the words of its system.
std::string sentence_of(ResetReason reason);

// Writes all of it to the stream at once; what does not fit is lost, and the stream given up. For a few bytes on a
// stream that carries little yet.
void write_stream(Streams& streams, StreamId stream, Bytes bytes);

}  // namespace mcdtp
