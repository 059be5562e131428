// Two sessions, any sequence of operations of their users, and a network that loses, repeats and reorders as
// the fuzzer likes: no byte is wrong, no session fails, and once the network is good again all that was sent
// arrives. The first byte odd: one session and a peer that says anything: no CHECK of ours may fall.
#include "tests/fuzz/session_pair.h"

namespace {

using namespace mcdtp;
using namespace mcdtp::fuzz;

struct Flying {
  ChannelId channel;
  PathId path;
  OutgoingPacket packet;
  std::vector<std::uint8_t> frames;
};

class Pair {
 public:
  explicit Pair(Choices choices) : choices_(choices) {}

  void run() {
    while (!choices_.empty()) step();
    settle();
  }

 private:
  static constexpr Duration kTrip = milliseconds(5);

  End& end(bool client) { return client ? client_ : server_; }
  std::deque<Flying>& flying(bool from_client) { return from_client ? up_ : down_; }

  void step() {
    const std::uint8_t what = choices_.next();
    const bool client = (what & 1) != 0;
    End& own = end(client);
    Streams& streams = own.session.streams();
    switch (what >> 1 & 15) {
      case 0: return own.write(stream(), std::size_t{choices_.next()} * 97);
      case 1: return streams.finish(stream());
      case 2: return streams.reset(stream());
      case 3: return streams.stop(stream());
      case 4: return streams.release(choices_.next());
      case 5: return open(own);
      case 6: own.paused = !own.paused; return own.take_news();
      case 7: return poll(client);
      case 8: return deliver(client, 0);
      case 9: return deliver(client, choices_.next());
      case 10: return lose(client, choices_.next());
      case 11: return repeat(client, choices_.next());
      case 12: return pass(milliseconds(choices_.next()));
      case 13: return pass(microseconds(choices_.next()));
      case 14: return block(own);
      default: return connect_or_end();
    }
  }

  StreamId stream() { return choices_.next() % 8; }

  void open(End& own) {
    if (own.session.streams().count() < 6) own.session.streams().open("x");
  }

  void block(End& own) {
    const std::uint8_t how = choices_.next();
    own.session.set_blocked(how % kPairChannels, (how & 64) != 0);
  }

  void connect_or_end() {
    if (tcp_) {
      client_.session.remove_channel(now_, *tcp_);
      server_.session.remove_channel(now_, *tcp_);
      return tcp_.reset();
    }
    tcp_ = next_tcp_++;
    client_.session.add_stream_channel(now_, *tcp_);
    server_.session.add_stream_channel(now_, *tcp_);
  }

  void pass(Duration time) {
    now_ += time;
    for (const bool client : {true, false}) {
      Session& session = end(client).session;
      if (session.next_timeout() <= now_) session.on_timeout(now_);
    }
  }

  void poll(bool client) {
    for (ChannelId id = 0; id < kPairChannels; ++id) poll_channel(client, id);
    poll_channel(client, kSshChannel);
    if (tcp_) poll_channel(client, *tcp_);
  }

  void poll_channel(bool client, ChannelId id) {
    Session& session = end(client).session;
    if (session.channel(id) == nullptr) return;
    for (int i = 0; i < 1000; ++i) {
      std::vector<std::uint8_t> frames(id < kPairChannels ? session.packet_room(id) : 16 * 1024);
      const auto out = session.poll_packet(now_, id, frames);
      if (!out) return;
      CHECK(out->size > 0 && out->size <= frames.size());
      frames.resize(out->size);
      flying(client).push_back({id, client ? PathId{1} : PathId{0}, *out, std::move(frames)});
    }
  }

  // The nth that flies; one of a stream channel only when it is the oldest of its channel.
  std::deque<Flying>::iterator pick(bool from_client, std::size_t n) {
    auto& all = flying(from_client);
    if (all.empty()) return all.end();
    const auto chosen = all.begin() + static_cast<std::ptrdiff_t>(n % all.size());
    if (chosen->channel < kPairChannels) return chosen;
    return std::find_if(all.begin(), all.end(),
                        [&](const Flying& f) { return f.channel == chosen->channel; });
  }

  void arrive(bool from_client, const Flying& flight) {
    End& to = end(!from_client);
    to.session.on_packet(now_, flight.channel, flight.path, flight.packet.number, flight.packet.flags,
                         flight.frames, flight.frames.size() + 27);
    CHECK(!to.session.peer_failed());
    to.take_news();
  }

  void deliver(bool from_client, std::size_t n) {
    const auto it = pick(from_client, n);
    if (it == flying(from_client).end()) return;
    const Flying flight = std::move(*it);
    flying(from_client).erase(it);
    arrive(from_client, flight);
  }

  void lose(bool from_client, std::size_t n) {
    const auto it = pick(from_client, n);
    if (it != flying(from_client).end() && it->channel < kPairChannels) flying(from_client).erase(it);
  }

  void repeat(bool from_client, std::size_t n) {
    const auto it = pick(from_client, n);
    if (it != flying(from_client).end() && it->channel < kPairChannels) arrive(from_client, Flying(*it));
  }

  // A good network for long enough: each stream that was finished ends, and nothing waits any more.
  void settle() {
    client_.paused = server_.paused = false;
    for (ChannelId id = 0; id < kPairChannels; ++id) {
      client_.session.set_blocked(id, false);
      server_.session.set_blocked(id, false);
    }
    const Time end = now_ + seconds(60);
    while (now_ < end && !quiet()) {
      for (const bool client : {true, false}) {
        Session& session = this->end(client).session;
        this->end(client).take_news();
        poll(client);
        // What is due has been done: else the driver would never sleep.
        if (session.next_timeout() <= now_) session.on_timeout(now_);
        poll(client);
      }
      now_ += kTrip;
      for (const bool from_client : {true, false}) {
        for (std::size_t n = flying(from_client).size(); n > 0; --n) deliver(from_client, 0);
      }
    }
    CHECK(quiet());
    check_streams();
  }

  bool quiet() {
    return up_.empty() && down_.empty() && client_.session.all_reported() && server_.session.all_reported();
  }

  void check_streams() {
    for (const bool client : {true, false}) {
      End& from = end(client);
      End& to = end(!client);
      for (StreamId id = 0; id < 16; ++id) {
        CHECK(to.taken(id) <= from.written(id));
        if (to.ended(id)) CHECK(to.taken(id) == from.written(id) || to.session.streams().read_to_end(id));
      }
    }
  }

  Choices choices_;
  Time now_{};
  End client_{Role::kClient};
  End server_{Role::kServer};
  std::deque<Flying> up_;
  std::deque<Flying> down_;
  std::optional<ChannelId> tcp_;
  ChannelId next_tcp_ = kFirstTcpChannel;
};

// A peer that has the keys and keeps no rule.
void hostile(Choices choices, Role role) {
  End end(role);
  Time now{};
  std::map<ChannelId, PacketNumber> numbers;
  std::vector<std::uint8_t> room(16 * 1024);
  while (!choices.empty()) {
    const std::uint8_t what = choices.next();
    const ChannelId id = (what & 3) == 3 ? kSshChannel : what & 3;
    PacketNumber& number = numbers[id];
    number += (what & 4) != 0 ? choices.next() : 1;
    if ((what & 12) == 12) number = ~number;
    const Bytes frames = choices.take(choices.next());
    end.session.on_packet(now, id, what >> 6, number, what >> 4 & 3, frames, frames.size() + 27);
    end.take_news();
    if ((what & 16) != 0) end.write(kStdio, 3000);
    now += milliseconds(what >> 5);
    if (end.session.next_timeout() <= now) end.session.on_timeout(now);
    for (const ChannelId out : {ChannelId{0}, ChannelId{1}, ChannelId{2}, kSshChannel}) {
      if (end.session.channel(out) == nullptr) continue;
      const std::size_t size = out == kSshChannel ? room.size() : end.session.packet_room(out);
      while (end.session.poll_packet(now, out, MutableBytes(room).first(size))) {
      }
    }
    // All that is due has been done.
    CHECK(end.session.next_timeout() > now || end.session.peer_failed());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 4096) return 0;
  const Choices choices(Bytes(data + 1, size - 1));
  if ((data[0] & 1) == 0) {
    Pair(choices).run();
  } else {
    hostile(choices, (data[0] & 2) != 0 ? Role::kClient : Role::kServer);
  }
  return 0;
}
