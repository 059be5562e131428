#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "common/core/check.h"
#include "common/core/session.h"
#include "tests/pattern.h"

namespace mcdtp::fuzz {

// Hands out the fuzzer's bytes as choices; zeros when there are none left.
class Choices {
 public:
  explicit Choices(Bytes data) : data_(data) {}
  std::uint8_t next() {
    if (data_.empty()) return 0;
    const std::uint8_t value = data_[0];
    data_ = data_.subspan(1);
    return value;
  }
  bool empty() const { return data_.empty(); }
  Bytes take(std::size_t size) {
    const Bytes part = data_.first(std::min(size, data_.size()));
    data_ = data_.subspan(part.size());
    return part;
  }

 private:
  Bytes data_;
};

inline constexpr std::uint64_t kPairChannels = 3;

// `by_ssh`: as with --transport ssh: no datagrams, and what would be TCP connections are further SSH connections.
inline SessionConfig pair_config(Role role, bool by_ssh = false) {
  SessionConfig config;
  config.role = role;
  config.channels = kPairChannels;
  config.congestion = [] { return make_congestion("fixed", 100'000'000); };
  config.tries_links = true;
  config.links_go_by_ssh = by_ssh;
  return config;
}

// One end: a session, and a user that reads all and checks each byte.
class End {
 public:
  explicit End(Role role, bool by_ssh = false) : session(Time{}, pair_config(role, by_ssh)) {
    session.add_stream_channel(Time{}, kSshChannel);
    for (ChannelId id = 0; !by_ssh && id < kPairChannels; ++id) {
      const bool client = role == Role::kClient && id == 0;
      session.add_datagram_channel(Time{}, id, client ? std::vector<PathId>{0} : std::vector<PathId>{});
    }
  }

  void write(StreamId id, std::size_t size) {
    while (size > 0) {
      MutableBytes room = session.streams().write_room(id);
      room = room.first(std::min(room.size(), size));
      if (room.empty()) return;
      write_pattern(room, id, written_[id]);
      session.streams().wrote(id, room.size());
      size -= room.size();
    }
  }

  void read(StreamId id) {
    Streams& streams = session.streams();
    while (!paused) {
      const Bytes bytes = streams.readable(id);
      if (bytes.empty()) break;
      CHECK(is_pattern(bytes, id, read_[id]) || !peer_is_honest);
      streams.consume(id, bytes.size());
    }
    if (streams.read_to_end(id) && !streams.was_reset(id)) ended_[id] = true;
  }

  void take_news() {
    while (const auto news = session.poll_stream_news()) {
      if (news->kind == StreamNews::Kind::kReadable) waiting_.push_back(news->stream);
      if (news->kind == StreamNews::Kind::kOpened) opened.push_back(news->stream);
    }
    while (!paused && !waiting_.empty()) {
      read(waiting_.front());
      waiting_.pop_front();
    }
    while (session.poll_event()) {
    }
  }

  std::uint64_t written(StreamId id) { return written_[id]; }
  std::uint64_t taken(StreamId id) { return read_[id]; }
  // Its end was reached without a reset.
  bool ended(StreamId id) { return ended_[id]; }

 private:
  std::map<StreamId, std::uint64_t> written_;
  std::map<StreamId, std::uint64_t> read_;
  std::map<StreamId, bool> ended_;
  std::deque<StreamId> waiting_;

 public:
  Session session;
  std::vector<StreamId> opened;
  bool paused = false;
  bool peer_is_honest = true;  // it says the pattern
};

}  // namespace mcdtp::fuzz
