#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/core/seal.h"
#include "common/core/session.h"
#include "tests/sim/sim_link.h"

namespace mcdtp::sim {

// The seed of every scenario: MCDTP_SIM_SEED replays one. Printed once, on stderr. Throws where it is no number.
std::uint64_t scenario_seed();

// Where the client's datagrams seem to come from, until that changes; and what it says that it sends from.
inline constexpr PathId kClientAddress = 1;

struct WorldSettings {
  LinkSettings up;    // client to server
  LinkSettings down;  // server to client
  unsigned channels = 8;
  std::optional<unsigned> server_channels;  // unset: as many
  // Links that only some channels cross, by channel id, instead of the shared ones.
  std::map<ChannelId, LinkSettings> own_up;
  std::map<ChannelId, LinkSettings> own_down;
  std::size_t interface_mtu = 1228;  // of both hosts, for IP packets; this one leaves nothing to search
  double ssh_rate_bps = 4e6;         // what the SSH connection carries each way
  double max_stream_rate = Pacer::kUnpaced;  // of what is sent on it, see SessionConfig
  std::string congestion = "auto";
  std::optional<std::uint64_t> fixed_rate_bps;
  Pacing pacing = Pacing::kTrains;
  Coupling coupling = Coupling::kCoupled;
  std::uint64_t memory = kUntoldMemory;
  std::optional<std::uint64_t> server_memory;  // where it is another
  // Links of another world, crossed instead of `up` and `down`: see run_together().
  std::shared_ptr<Link> shared_up;
  std::shared_ptr<Link> shared_down;
  bool client_doubts_udp = false;
  bool server_knows_client = true;  // the client's datagrams come from the address that its log-in came from
  Duration begins{};                // when both ends are logged in and know the keys
  Duration access_delay{};          // of this world alone, each way, before the link
  // Each host stands still now and then, for `most` at most, after `most_between` at most: what comes waits for it.
  struct Stalls {
    Duration most{};
    Duration most_between = milliseconds(100);
  } stalls;
  // A NAT before the client that forgets a channel on which it has said nothing for so long: what comes is then lost,
  // and the channel's next packet seems to come from elsewhere. Unset: none.
  std::optional<Duration> nat_forgets;
  // A firewall before the server that lets in what comes on a channel on which the server has sent, to where it comes from.
  bool firewall = false;
  bool tries_links = false;         // both ends, see LinkTrial
  bool links_go_by_ssh = false;     // both ends, see SessionConfig
  bool client_tells_ports = false;  // what it sends from; of no use where there is no firewall
};

class World;

// One end: a session with its sealers, and an application that writes and reads streams.
class Host {
 public:
  Host(World& world, Role role, const WorldSettings& settings, const SessionKeys& keys);

  // Writes `size` more pattern bytes to the stream as room allows.
  void write(StreamId id, std::uint64_t size);
  // Ends it after them.
  void finish(StreamId id);
  // Ends it with what has been written so far.
  void finish_early(StreamId id);
  void send(StreamId id, std::uint64_t size) {
    write(id, size);
    finish(id);
  }
  StreamId open(const std::string& target);
  void reset(StreamId id);
  void stop(StreamId id);
  // Reads are taken as they come unless paused; each byte is checked against the pattern of its offset.
  void pause_reading(StreamId id, bool paused);
  std::uint64_t received(StreamId id) const;
  bool ended(StreamId id) const;
  bool intact() const { return intact_; }
  Session& session() { return session_; }
  const Session& session() const { return session_; }
  bool has_event(SessionEventKind kind) const;
  // When the event first came.
  std::optional<Time> time_of(SessionEventKind kind) const;
  // The peer wanted no more of the stream.
  bool was_stopped(StreamId id) const { return stopped_.contains(id); }
  bool was_reset(StreamId id) const { return reset_.contains(id); }
  // Called with all that is readable of the stream, before it is consumed (ping-pong applications).
  std::function<void(StreamId, std::uint64_t total)> on_received;
  std::function<void(StreamId, const std::string& target)> on_opened;

  // What the world calls.
  void receive_datagram(Time arrived, ChannelId channel, PathId from, std::vector<std::uint8_t> packet);
  void receive_record(ChannelId channel, const OutgoingPacket& packet, std::vector<std::uint8_t> frames);
  void wake();
  Time next_wake() const;
  void take(std::function<void()> arrival);
  PathId address = kClientAddress;  // where our datagrams seem to come from
  std::vector<SessionEvent> events;
  std::uint64_t wakes = 0;
  std::uint64_t unopened = 0;  // datagrams that did not open

 private:
  friend class World;
  struct Writing {
    std::uint64_t left = 0;
    std::uint64_t offset = 0;
    bool finish_wanted = false;
  };
  struct Reading {
    std::uint64_t total = 0;
    bool paused = false;
    bool ended = false;
  };
  struct Ends {
    Sealer sealer;
    Opener opener;
  };

  bool stands_still();
  void write_streams();
  void read_streams();
  void read_stream(StreamId id);
  void wake_soon();
  void release_if_done(StreamId id);
  void send_packets();
  bool send_on(ChannelId id);
  Ends& ends(ChannelId id);

  World& world_;
  Role role_;
  const SessionKeys& keys_;
  std::size_t mtu_limit_;  // UDP payload that the interface takes
  ChannelId channels_;     // of datagrams
  bool knows_peer_;        // so that the addresses of its datagrams are validated
  Session session_;
  std::vector<std::uint8_t> polled_;  // frames of a packet before it is sealed
  std::map<ChannelId, Ends> ends_;
  std::map<StreamId, Writing> writing_;
  std::map<StreamId, Reading> reading_;
  std::set<StreamId> stopped_;
  std::set<StreamId> reset_;
  std::vector<Time> event_times_;  // beside `events`
  bool intact_ = true;
  std::vector<std::function<void()>> arrived_;
  WorldSettings::Stalls stalls_;
  std::mt19937_64 random_;
  Time stall_begins_ = kNever, stall_ends_{};
  Time stalled_until_{};
};

// Two sessions in virtual time, joined by seeded links for datagrams and by one reliable, slow pipe each way
// for the SSH channel. Nothing here looks at a clock.
class World {
 public:
  explicit World(WorldSettings settings);

  // Runs until `done` holds or the time has come; true: it holds. False at once when the sessions do not let
  // time pass: a timer that is due and does nothing.
  bool run_until(const std::function<bool()>& done, Duration limit);
  void at(Duration when, std::function<void()> action);
  // When the next thing happens, and lets it happen. False: the sessions do not let time pass.
  Time next() const;
  bool step();
  void pass_time(Time until) { now_ = std::max(now_, until); }
  Time now() const { return now_; }
  // Called for each datagram sent, with what it holds in clear.
  std::function<void(Role from, Bytes frames, bool lost)> on_datagram;
  // How often the NAT gave a channel a new address.
  std::uint64_t nat_changes() const { return nat_changes_; }
  double seconds_passed() const { return to_seconds(now_.time_since_epoch()); }

  // The payload that a direction carries at most, in bytes/s: rate x (1 - loss) x payload share of a
  // datagram.
  static double limit(const LinkSettings& link);

  Link& up(ChannelId channel);
  Link& down(ChannelId channel);
  // Applied to the settings of each link of a direction.
  void each_up(const std::function<void(LinkSettings&)>& change);
  void each_down(const std::function<void(LinkSettings&)>& change);
  void each_link(const std::function<void(LinkSettings&)>& change) {
    each_up(change);
    each_down(change);
  }
  void cut_all(bool cut) {
    each_link([cut](LinkSettings& link) { link.cut = cut; });
  }
  // Nothing that a stream channel is given leaves before this is over.
  void stall_pipes(Duration how_long);
  // The same of one, while the others go on.
  void stall_pipe(ChannelId id, Duration how_long);
  // A direct TCP connection is made, ends.
  void connect_tcp(ChannelId id);
  void end_tcp(ChannelId id);

  // False: it is lost.
  bool carry_datagram(Role from, ChannelId channel, PathId path, std::vector<std::uint8_t> packet);
  void carry_record(Role from, ChannelId channel, const OutgoingPacket& packet,
                    std::vector<std::uint8_t> frames);

 private:
  struct Event {
    Time at;
    std::uint64_t order;
    std::function<void()> action;
    bool operator>(const Event& other) const { return std::tie(at, order) > std::tie(other.at, other.order); }
  };
  struct Pipe {
    Time free_at{};
  };
  struct NatEntry {
    PathId address = kClientAddress;
    Time last_out{};
  };

  Host& host(Role role) { return role == Role::kClient ? client : server; }
  void schedule(Time at, std::function<void()> action);
  void deliver(Time when, Host& to, std::function<void()> action);
  Link& link(Role from, ChannelId channel);
  bool cross_nat(Role from, ChannelId channel, PathId& path);
  bool cross_firewall(Role from, ChannelId channel, PathId path);

  WorldSettings settings_;
  SessionKeys keys_;
  Time now_{};
  std::uint64_t order_ = 0;
  std::vector<Event> events_;   // a heap, the next in front
  unsigned wakes_at_once_ = 0;  // timers run since time last passed
  std::shared_ptr<Link> shared_up_;
  std::shared_ptr<Link> shared_down_;
  std::map<ChannelId, Link> own_up_;
  std::map<ChannelId, Link> own_down_;
  std::map<std::pair<Role, ChannelId>, Pipe> pipes_;
  Time stalled_until_{};
  std::map<ChannelId, NatEntry> nat_;
  std::set<std::pair<ChannelId, PathId>> let_in_;
  std::uint64_t nat_changes_ = 0;

 public:
  Host client;
  Host server;
};

// Several worlds whose links are the same objects, until `limit`.
void run_together(const std::vector<World*>& worlds, Duration limit);

}  // namespace mcdtp::sim
