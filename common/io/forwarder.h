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

// A place where connections come in. Those from there that wait for their targets are counted.
class Entrance {
 public:
  Entrance() = default;
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  std::size_t waiting() const { return static_cast<std::size_t>(waiting_.use_count()) - 1; }
  // One more waits as long as that lives.
  std::shared_ptr<char> wait() const { return waiting_; }

 private:
  std::shared_ptr<char> waiting_ = std::make_shared<char>();
};

// The connections that streams carry: those that came in here, for which we open a stream, and those that we make for
// the peer's streams. Decides nothing: who may go where is its owner's affair.
class Forwarder {
 public:
  // What to do at the turning points of one connection; each may be empty.
  struct Hooks {
    // The target is reached: before the first byte from there goes on.
    std::function<void()> on_reached;
    // It is not, and will not be. The stream is given up for that reason after this, unless this returns true, where
    // we were to make it: then what was written to the stream, and finished, still goes out.
    std::function<bool(const Dialer::Outcome&)> on_failed;
  };

  // Two lost packets of a handshake do not keep a target from being reached.
  static constexpr Duration kDialPatience = seconds(4);

  // `on_empty`: the last connection has ended. `dial_patience`: how long a target is dialled on for words that came
  // before a reset.
  explicit Forwarder(Driver& driver, std::function<void()> on_empty = {},
                     Duration dial_patience = kDialPatience)
      : driver_(driver), names_(driver.io()), on_empty_(std::move(on_empty)), dial_patience_(dial_patience) {}

  // May one more come in there? Where targets do not answer, those that wait for them take no more streams than are left:
  // of n such places there is always one part in n + 1 for the others.
  bool may_accept(const Entrance& at) const { return at.waiting() < driver_.streams().room(); }
  // Carries `socket`, which came in `at`, by a new stream. What it sends goes out at once, after `early`; what comes for it
  // waits for the target where there is an on_reached. False: it may not be accepted, and the socket is closed.
  // REQUIRES: is_sayable(target).
  bool carry(const Entrance& at, std::shared_ptr<Descriptor> socket, const Target& target, Bytes early = {},
             Hooks hooks = {});
  // Connects the peer's stream, or says on it why not. REQUIRES: the stream is not here yet.
  void dial(StreamId stream, const ToTcp& to, int family, Hooks hooks = {});
  void dial(StreamId stream, const ToUnix& to, Hooks hooks = {});
  // False: it is none of ours.
  bool on_news(const StreamNews& news);

  // The peer is gone: what it has said to the end of a connection still goes there, even if that is yet to be made; all
  // others end.
  void drain();

  // Connections under way.
  std::size_t count() const { return entries_.size(); }
  // Changes whenever a program takes something.
  std::uint64_t taken() const;

 private:
  // Of one stream: exactly one of `dialer` and `connection` is there, but for the moment between.
  struct Entry {
    Hooks hooks;
    std::shared_ptr<char> waits;  // of an Entrance: until its target is reached
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
  Duration dial_patience_;
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
