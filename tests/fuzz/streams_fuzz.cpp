// Two ends of all streams without packets between: any operations, and pieces and control frames that arrive
// in any order, twice, or only when they are sent again. No byte is wrong, no end finds fault with the other,
// and all that was written and not given up arrives.
#include <algorithm>
#include <map>
#include <variant>

#include "common/core/check.h"
#include "common/core/streams.h"
#include "tests/fuzz/session_pair.h"

namespace {

using namespace mcdtp;
using namespace mcdtp::fuzz;

struct Flying {
  std::optional<DataRef> data;
  std::vector<std::uint8_t> bytes;
  std::optional<ControlFrame> control;
};

struct Side {
  explicit Side(Role role) : streams(role, control, news) {}

  void write(StreamId id, std::size_t size) {
    MutableBytes room = streams.write_room(id);
    room = room.first(std::min(room.size(), size));
    write_pattern(room, id, written[id]);
    if (!room.empty()) streams.wrote(id, room.size());
  }
  void read(StreamId id) {
    const Bytes bytes = streams.readable(id);
    CHECK(is_pattern(bytes, id, taken[id]));
    streams.consume(id, bytes.size());
  }

  ControlQueue control;
  std::deque<StreamNews> news;
  Streams streams;
  std::deque<Flying> flying;
  std::map<StreamId, std::uint64_t> written;
  std::map<StreamId, std::uint64_t> taken;
};

constexpr StreamId kStreams = 8;

class Pair {
 public:
  explicit Pair(Choices choices) : choices_(choices) {}

  void run() {
    while (!choices_.empty()) step();
    for (int i = 0; i < 3000 && busy(); ++i) settle();
    CHECK(!busy());
    for (StreamId id = 0; id < kStreams; ++id) check(client_, server_, id), check(server_, client_, id);
  }

 private:
  void step() {
    const std::uint8_t what = choices_.next();
    Side& own = (what & 1) != 0 ? client_ : server_;
    Side& peer = (what & 1) != 0 ? server_ : client_;
    const std::uint8_t detail = choices_.next();
    const StreamId id = detail % kStreams;
    switch (what >> 1 & 15) {
      case 0: return own.write(id, std::size_t{detail} * 300);
      case 1: return own.streams.finish(id);
      case 2: return own.streams.reset(id);
      case 3: return own.streams.stop(id);
      case 4: return own.streams.release(id);
      case 5: return open(own);
      case 6:
      case 7: return own.read(id);
      case 8:
      case 9: return send(own, detail * 40u + 40);
      case 10:
      case 11: return arrive(own, peer, detail, false);
      case 12: return arrive(own, peer, detail, true);
      case 13: return reached(own, peer, id);
      case 14: return own.streams.break_off(id);
      default: return lose(own, detail);
    }
  }

  static void open(Side& own) {
    if (own.streams.count() < 6) own.streams.open("x");
  }

  // Of a stream that the peer has opened.
  void reached(Side& own, Side& peer, StreamId id) const {
    const bool the_peers = id >= kFirstClientStream && (id % 2 == 0) == (&peer == &client_);
    if (the_peers) own.streams.reached(id);
  }

  static void send(Side& own, std::size_t room) {
    for (; !own.control.empty(); own.control.pop())
      own.flying.push_back({std::nullopt, {}, own.control.front()});
    const auto piece = own.streams.take(room);
    if (!piece) return;
    Flying flight;
    flight.data = DataRef{piece->stream, piece->piece.offset, static_cast<std::uint32_t>(piece->piece.size)};
    flight.bytes.resize(piece->piece.size);
    own.streams.copy(*piece, flight.bytes);
    own.flying.push_back(std::move(flight));
  }

  // What arrives is reported at once, unless it is to arrive again.
  void arrive(Side& own, Side& peer, std::size_t n, bool again) {
    if (own.flying.empty()) return;
    const auto it = own.flying.begin() + static_cast<std::ptrdiff_t>(n % own.flying.size());
    const Flying flight = *it;
    if (!again) own.flying.erase(it);
    now_ += microseconds(100);
    CHECK(!take(peer.streams, flight));
    if (!again && flight.data) own.streams.covered(*flight.data);
  }

  std::optional<std::string> take(Streams& to, const Flying& flight) {
    if (flight.data)
      return to.on_data(now_, {flight.data->stream, flight.data->offset, flight.bytes}, milliseconds(5));
    const ControlFrame& frame = *flight.control;
    if (const auto* fin = std::get_if<FinFrame>(&frame)) return to.on_fin(*fin);
    if (const auto* reset = std::get_if<ResetFrame>(&frame)) return to.on_reset(*reset);
    if (const auto* open = std::get_if<OpenFrame>(&frame)) return to.on_open(*open);
    if (const auto* opened = std::get_if<OpenedFrame>(&frame)) return to.on_opened(*opened);
    if (const auto* stop = std::get_if<StopFrame>(&frame)) to.on_stop(*stop);
    if (const auto* credit = std::get_if<StreamCreditFrame>(&frame)) to.on_stream_credit(*credit);
    if (const auto* credit = std::get_if<SessionCreditFrame>(&frame)) to.on_session_credit(*credit);
    if (const auto* complete = std::get_if<CompleteFrame>(&frame)) to.on_complete(*complete);
    return std::nullopt;
  }

  static void lose(Side& own, std::size_t n) {
    if (own.flying.empty()) return;
    const auto it = own.flying.begin() + static_cast<std::ptrdiff_t>(n % own.flying.size());
    const Flying flight = std::move(*it);
    own.flying.erase(it);
    if (flight.data) return own.streams.requeue(*flight.data);
    if (auto renewed = own.streams.renewed(*flight.control)) own.control.push(std::move(*renewed));
  }

  bool busy() {
    return std::any_of(sides_.begin(), sides_.end(), [](const Side* side) {
      return !side->flying.empty() || !side->control.empty() || side->streams.has_data() ||
             side->streams.buffered() > 0;
    });
  }

  void settle() {
    for (Side* own : sides_) {
      Side& peer = own == &client_ ? server_ : client_;
      for (int i = 0; i < 20; ++i) send(*own, 16'000);
      while (!own->flying.empty()) arrive(*own, peer, 0, false);
      for (StreamId id = 0; id < kStreams; ++id) peer.read(id);
    }
  }

  static void check(Side& from, Side& to, StreamId id) {
    while (!to.streams.readable(id).empty()) to.read(id);
    CHECK(to.taken[id] <= from.written[id]);
  }

  Choices choices_;
  Time now_{};
  Side client_{Role::kClient};
  Side server_{Role::kServer};
  std::array<Side*, 2> sides_{&client_, &server_};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size <= 4096) Pair(Choices(Bytes(data, size))).run();
  return 0;
}
