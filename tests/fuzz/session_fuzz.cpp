// Two sessions, any sequence of operations of their users, and a network that loses, repeats and reorders as
// the fuzzer likes: no byte is wrong, no session fails, and once the network is good again all that was sent
// arrives. Reports that are forged, repeated or cut change nothing of that. The first byte
// odd: one session and a peer that says anything: no CHECK of ours may fall. Else its second bit: all goes by SSH.
#include "tests/fuzz/session_pair.h"

namespace {

using namespace mcdtp;
using namespace mcdtp::fuzz;

struct Flying {
  ChannelId channel;
  PathId path;
  OutgoingPacket packet;
  std::vector<std::uint8_t> frames;
  std::uint64_t lies = 0;  // reports put in that cannot be true
};

void append_report(std::vector<std::uint8_t>& frames, const ReportFrame& report, std::size_t room) {
  const std::size_t before = frames.size();
  frames.resize(before + kMinReportSize + room);
  Writer out(MutableBytes(frames).subspan(before));
  write_report(out, report, out.remaining());
  frames.resize(before + out.size());
}

// Ranges of all shapes below `largest`, as a list or a bitmap, whichever is shorter.
ReportFrame any_report(Choices& choices, ChannelId channel, PacketNumber largest) {
  ReportFrame report;
  report.channel = channel;
  report.sequence = choices.next();
  report.delay = milliseconds(choices.next());
  report.arrived = report.sequence * (kReportClock / 256);
  PacketNumber end = largest + 1;
  for (std::size_t count = 1 + choices.next() % 64; count > 0 && end > 0; --count) {
    const std::uint8_t shape = choices.next();
    const PacketNumber size = std::min<PacketNumber>(end, 1 + shape % 16);
    report.ranges.push_back({end - size, end});
    end -= std::min<PacketNumber>(end, size + 1 + shape / 32);
  }
  return report;
}

class Pair {
 public:
  Pair(Choices choices, bool by_ssh)
      : choices_(choices), client_(Role::kClient, by_ssh), server_(Role::kServer, by_ssh) {}

  void run() {
    while (!choices_.empty()) step();
    settle();
  }

 private:
  static constexpr Duration kTrip = milliseconds(5);
  static constexpr std::size_t kMostLinks = 3;

  End& end(bool client) { return client ? client_ : server_; }
  std::deque<Flying>& flying(bool from_client) { return from_client ? up_ : down_; }

  void step() {
    const std::uint8_t what = choices_.next();
    const bool client = (what & 1) != 0;
    if (what >> 5 == 7) return forge(client);
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
    const std::size_t which = choices_.next() % (kMostLinks + 1);
    if (which >= links_.size() && links_.size() < kMostLinks) return connect();
    const ChannelId id = links_[which % links_.size()];
    client_.session.remove_channel(now_, id);
    server_.session.remove_channel(now_, id);
    std::erase(links_, id);
  }

  void connect() {
    links_.push_back(next_link_++);
    client_.session.add_stream_channel(now_, links_.back());
    server_.session.add_stream_channel(now_, links_.back());
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
    for (const ChannelId id : links_) poll_channel(client, id);
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
      keep_reports(client, frames);
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
    const std::uint64_t before = to.session.statistics().bad_reports;
    // It has waited for its reader, were it longer than it was on its way.
    const Time arrived = now_ - milliseconds(flight.frames.size() % 64);
    const bool taken = to.session.on_packet(now_, arrived, flight.channel, flight.path, flight.packet.number,
                                            flight.packet.flags, flight.frames, flight.frames.size() + 27);
    CHECK(!taken || to.session.statistics().bad_reports >= before + flight.lies);
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

  void keep_reports(bool client, Bytes frames) {
    Reader reader(frames);
    while (const auto frame = read_frame(reader)) {
      if (const auto* report = std::get_if<ReportFrame>(&*frame)) reports_[client].push_back(*report);
    }
    while (reports_[client].size() > 32) reports_[client].pop_front();
  }

  // One more report in a packet that flies: an old one, part of one, or one that cannot be true.
  void forge(bool from_client) {
    const auto it = pick(from_client, choices_.next());
    if (it == flying(from_client).end() || it->frames.size() > 8192) return;
    const std::uint8_t how = choices_.next();
    auto& old = reports_[from_client];
    if ((how & 3) == 0) {
      const ChannelId nowhere = how & 4 ? 77 : it->channel;
      append_report(it->frames, any_report(choices_, nowhere, (1ULL << 40) + how), std::size_t{how} * 4);
      ++it->lies;
    } else if (!old.empty()) {
      ReportFrame report = old[how % old.size()];
      if ((how & 4) != 0 && report.ranges.size() > 1) report.ranges.erase(report.ranges.begin());
      // One of a pipe that leaves something out is a fault.
      const bool may_leave_out = report.channel < kPairChannels;
      if ((how & 8) != 0 && may_leave_out) report.ranges.back().begin = report.ranges.back().end - 1;
      append_report(it->frames, report, how);
    }
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
        this->end(client).take_news();
        poll(client);
        do_what_is_due(client);
      }
      now_ += kTrip;
      for (const bool from_client : {true, false}) {
        for (std::size_t n = flying(from_client).size(); n > 0; --n) deliver(from_client, 0);
      }
    }
    CHECK(quiet());
    check_streams();
  }

  // Else the driver would never sleep.
  void do_what_is_due(bool client) {
    Session& session = end(client).session;
    for (int idle = 0; session.next_timeout() <= now_;) {
      const std::uint64_t before = session.statistics().packets_sent;
      session.on_timeout(now_);
      poll(client);
      CHECK(session.statistics().packets_sent > before || ++idle < 4);
    }
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
  End client_;
  End server_;
  std::deque<Flying> up_;
  std::deque<Flying> down_;
  std::deque<ReportFrame> reports_[2];  // that were said, by who said them: the client's at 1
  std::vector<ChannelId> links_;        // TCP connections that stand
  ChannelId next_link_ = kFirstTcpChannel;
};

// A peer that has the keys and keeps no rule.
void hostile(Choices choices, Role role) {
  End end(role);
  end.peer_is_honest = false;
  Time now{};
  std::map<ChannelId, PacketNumber> numbers;
  std::vector<std::uint8_t> room(16 * 1024);
  while (!choices.empty()) {
    const std::uint8_t what = choices.next();
    const ChannelId id = (what & 3) == 3 ? kSshChannel : what & 3;
    PacketNumber& number = numbers[id];
    number += (what & 4) != 0 ? choices.next() : 1;
    if ((what & 12) == 12) number = ~number;
    const std::uint8_t length = choices.next();
    const Bytes given = choices.take(length);
    std::vector<std::uint8_t> frames(given.begin(), given.end());
    if (length > 200) append_report(frames, any_report(choices, id, length % 50), length);
    end.session.on_packet(now, now, id, what >> 6, number, what >> 4 & 3, frames, frames.size() + 27);
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
    Pair(choices, (data[0] & 2) != 0).run();
  } else {
    hostile(choices, (data[0] & 2) != 0 ? Role::kClient : Role::kServer);
  }
  return 0;
}
