#include "tests/sim/world.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <tuple>

#include "tests/pattern.h"

namespace mcdtp::sim {
namespace {

constexpr std::size_t kMaxRecordFrames = 16 * 1024;
// Timers of one instant. Each lets go a train at most; more than these are a loop that does nothing.
constexpr unsigned kMostWakesAtOnce = 10'000;

std::array<std::uint8_t, 32> fixed_secret() {
  std::array<std::uint8_t, 32> secret;
  secret.fill(7);
  return secret;
}

std::shared_ptr<Link> shared(const std::shared_ptr<Link>& given, const LinkSettings& settings,
                             unsigned salt) {
  return given ? given : std::make_shared<Link>(settings, scenario_seed() + salt);
}

unsigned channels_of(Role role, const WorldSettings& settings) {
  return role == Role::kServer ? settings.server_channels.value_or(settings.channels) : settings.channels;
}

SessionConfig session_config(Role role, const WorldSettings& settings) {
  SessionConfig config;
  config.max_stream_rate = settings.max_stream_rate;
  config.doubts_datagrams = role == Role::kClient && settings.client_doubts_udp;
  config.role = role;
  config.channels = channels_of(role, settings);
  config.memory = role == Role::kServer ? settings.server_memory.value_or(settings.memory) : settings.memory;
  config.congestion = [name = settings.congestion, rate = settings.fixed_rate_bps, pacing = settings.pacing] {
    return make_congestion(name, rate, pacing);
  };
  config.coupling = settings.coupling;
  config.tries_links = settings.tries_links;
  config.links_go_by_ssh = settings.links_go_by_ssh;
  if (role == Role::kClient && settings.client_tells_ports)
    config.ports.assign(settings.channels, static_cast<std::uint16_t>(kClientAddress));
  return config;
}

}  // namespace

std::uint64_t scenario_seed() {
  static const std::uint64_t seed = [] {
    const char* variable = std::getenv("MCDTP_SIM_SEED");
    const std::string given = variable != nullptr ? variable : "1";
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
    if (error != std::errc{} || end != given.data() + given.size())
      throw std::runtime_error("MCDTP_SIM_SEED is no number: " + given);
    std::cerr << "MCDTP_SIM_SEED=" << number << "\n";
    return number;
  }();
  return seed;
}

// ---- Host ----

Host::Host(World& world, Role role, const WorldSettings& settings, const SessionKeys& keys)
    : world_(world),
      role_(role),
      keys_(keys),
      mtu_limit_(settings.interface_mtu - Link::kIpOverhead),
      channels_(static_cast<ChannelId>(channels_of(role, settings))),
      knows_peer_(role == Role::kServer && settings.server_knows_client),
      session_(Time(settings.begins), session_config(role, settings)),
      stalls_(settings.stalls),
      random_(scenario_seed() + (role == Role::kClient ? 4000 : 5000)) {
  session_.add_stream_channel(Time(settings.begins), kSshChannel);
  for (ChannelId id = 0; id < channels_; ++id) {
    const std::vector<PathId> candidates =
        role == Role::kClient && id == 0 ? std::vector<PathId>{0} : std::vector<PathId>{};
    session_.add_datagram_channel(Time(settings.begins), id, candidates);
  }
}

Host::Ends& Host::ends(ChannelId id) {
  const auto out = role_ == Role::kClient ? Direction::kClientToServer : Direction::kServerToClient;
  const auto in = role_ == Role::kClient ? Direction::kServerToClient : Direction::kClientToServer;
  const auto it = ends_.find(id);
  if (it != ends_.end()) return it->second;
  return ends_
      .emplace(std::piecewise_construct, std::forward_as_tuple(id),
               std::forward_as_tuple(Ends{Sealer(keys_, out, id), Opener(keys_, in, id)}))
      .first->second;
}

void Host::wake_soon() {
  world_.at(world_.now().time_since_epoch(), [this] { wake(); });
}

void Host::write(StreamId id, std::uint64_t size) {
  writing_[id].left += size;
  wake_soon();
}

void Host::finish_early(StreamId id) {
  writing_[id].left = 0;
  finish(id);
}

void Host::finish(StreamId id) {
  writing_[id].finish_wanted = true;
  wake_soon();
}

StreamId Host::open(const std::string& target) {
  wake_soon();
  return session_.streams().open(target);
}

void Host::reset(StreamId id) {
  session_.streams().reset(id);
  writing_.erase(id);
  wake_soon();
}

void Host::stop(StreamId id) {
  session_.streams().stop(id);
  wake_soon();
}

void Host::pause_reading(StreamId id, bool paused) {
  reading_[id].paused = paused;
  world_.at(world_.now().time_since_epoch(), [this, id] {
    read_stream(id);
    wake();
  });
}

std::uint64_t Host::received(StreamId id) const {
  const auto it = reading_.find(id);
  return it == reading_.end() ? 0 : it->second.total;
}

bool Host::ended(StreamId id) const {
  const auto it = reading_.find(id);
  return it != reading_.end() && it->second.ended;
}

bool Host::has_event(SessionEventKind kind) const {
  return std::any_of(events.begin(), events.end(), [&](const SessionEvent& e) { return e.kind == kind; });
}

std::optional<Time> Host::time_of(SessionEventKind kind) const {
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].kind == kind) return event_times_[i];
  }
  return std::nullopt;
}

void Host::receive_datagram(Time arrived, ChannelId channel, PathId from, std::vector<std::uint8_t> packet) {
  const auto header = decode_header(packet);
  const auto frames = header && header->channel == channel ? ends(channel).opener.open(packet) : std::nullopt;
  if (!frames) {
    ++unopened;
    return;
  }
  session_.on_packet(world_.now(), arrived, channel, from, header->number, header->flags, *frames,
                     packet.size());
  if (knows_peer_) session_.on_validated(channel, from);
}

void Host::receive_record(ChannelId channel, const OutgoingPacket& packet, std::vector<std::uint8_t> frames) {
  session_.on_packet(world_.now(), world_.now(), channel, 0, packet.number, packet.flags, frames,
                     frames.size() + kSealOverhead);
}

// What has come is taken before any timer, as a host does that finds both.
void Host::take(std::function<void()> arrival) {
  arrived_.push_back(std::move(arrival));
  wake();
}

bool Host::stands_still() {
  const auto up_to = [this](Duration most) {
    return Duration(std::uniform_int_distribution<Duration::rep>(0, most.count())(random_));
  };
  while (stalls_.most.count() > 0 && stall_ends_ <= world_.now()) {
    stall_begins_ = stall_ends_ + up_to(stalls_.most_between);
    stall_ends_ = stall_begins_ + up_to(stalls_.most);
  }
  if (stall_begins_ > world_.now()) return false;
  stalled_until_ = stall_ends_;
  return true;
}

Time Host::next_wake() const {
  return std::max(arrived_.empty() ? session_.next_timeout() : Time{}, stalled_until_);
}

void Host::wake() {
  if (stands_still()) return;
  for (const auto& arrival : std::exchange(arrived_, {})) arrival();
  ++wakes;
  if (session_.next_timeout() <= world_.now()) session_.on_timeout(world_.now());
  read_streams();
  write_streams();
  send_packets();
  while (auto event = session_.poll_event()) {
    if (event->kind == SessionEventKind::kPeerPort && knows_peer_)
      session_.on_expected(world_.now(), event->channel, static_cast<PathId>(event->value));
    events.push_back(std::move(*event));
    event_times_.push_back(world_.now());
  }
}

void Host::write_streams() {
  for (auto it = writing_.begin(); it != writing_.end();) {
    const StreamId id = it->first;
    Writing& writing = it->second;
    while (writing.left > 0) {
      MutableBytes room = session_.streams().write_room(id);
      if (room.empty()) break;
      room = room.first(static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), writing.left)));
      write_pattern(room, id, writing.offset);
      session_.streams().wrote(id, room.size());
      writing.left -= room.size();
    }
    if (writing.left > 0 || !writing.finish_wanted) {
      ++it;
      continue;
    }
    session_.streams().finish(id);
    it = writing_.erase(it);
    release_if_done(id);
  }
}

void Host::read_streams() {
  while (const auto news = session_.poll_stream_news()) {
    if (news->kind == StreamNews::Kind::kOpened && on_opened) on_opened(news->stream, news->target);
    if (news->kind == StreamNews::Kind::kReadable) read_stream(news->stream);
    if (news->kind == StreamNews::Kind::kStopped) {
      stopped_.insert(news->stream);
      writing_.erase(news->stream);
      release_if_done(news->stream);
    }
  }
}

void Host::read_stream(StreamId id) {
  Reading& reading = reading_[id];
  if (reading.paused || reading.ended) return;
  while (true) {
    const Bytes bytes = session_.streams().readable(id);
    if (bytes.empty()) break;
    intact_ = is_pattern(bytes, id, reading.total) && intact_;
    session_.streams().consume(id, bytes.size());
  }
  reading.ended = session_.streams().read_to_end(id);
  if (session_.streams().was_reset(id)) reset_.insert(id);
  if (on_received) on_received(id, reading.total);
  release_if_done(id);
}

void Host::release_if_done(StreamId id) {
  const auto reading = reading_.find(id);
  if (reading != reading_.end() && reading->second.ended && !writing_.contains(id))
    session_.streams().release(id);
}

void Host::send_packets() {
  for (bool any = true; any;) {
    any = false;
    for (ChannelId id = 0; id < channels_; ++id) {
      while (session_.channel(id) != nullptr && send_on(id)) any = true;
    }
    while (send_on(kSshChannel)) any = true;
    for (ChannelId id = kFirstTcpChannel; id < kFirstTcpChannel + kMaxDatagramChannels; ++id) {
      while (session_.channel(id) != nullptr && send_on(id)) any = true;
    }
  }
}

bool Host::send_on(ChannelId id) {
  const bool datagram = id < kMaxDatagramChannels;
  if (session_.wants_mtu_limit(id)) session_.set_mtu_limit(world_.now(), id, mtu_limit_);
  const std::size_t room = datagram ? session_.packet_room(id) : kMaxRecordFrames;
  if (polled_.size() < room) polled_.resize(room);
  const auto out = session_.poll_packet(world_.now(), id, MutableBytes(polled_).first(room));
  if (!out) return false;
  const Bytes clear = Bytes(polled_).first(out->size);
  if (!datagram) {
    world_.carry_record(role_, id, *out, {clear.begin(), clear.end()});
    return true;
  }
  std::vector<std::uint8_t> packet(out->size + kSealOverhead);
  std::copy(clear.begin(), clear.end(), packet.begin() + kHeaderSize);
  encode_header({out->flags, id, out->number}, packet);
  ends(id).sealer.seal(packet);
  const bool arrives =
      world_.carry_datagram(role_, id, role_ == Role::kClient ? address : out->path, std::move(packet));
  if (world_.on_datagram) world_.on_datagram(role_, clear, !arrives);
  return true;
}

// ---- World ----

World::World(WorldSettings settings)
    : settings_(std::move(settings)),
      keys_(fixed_secret(), Cipher::kAes128Gcm),
      now_(settings_.begins),
      shared_up_(shared(settings_.shared_up, settings_.up, 0)),
      shared_down_(shared(settings_.shared_down, settings_.down, 1000)),
      client(*this, Role::kClient, settings_, keys_),
      server(*this, Role::kServer, settings_, keys_) {
  for (const auto& [id, link] : settings_.own_up) own_up_.emplace(id, Link(link, 2000 + id));
  for (const auto& [id, link] : settings_.own_down) own_down_.emplace(id, Link(link, 3000 + id));
  at(settings_.begins, [this] {
    client.wake();
    server.wake();
  });
}

double World::limit(const LinkSettings& link) {
  const double share = (1200.0 - kSealOverhead - 8) / (1200.0 + Link::kIpOverhead);
  return link.rate_bps / 8 * (1 - link.loss) * share;
}

Link& World::up(ChannelId channel) {
  const auto it = own_up_.find(channel);
  return it == own_up_.end() ? *shared_up_ : it->second;
}

Link& World::down(ChannelId channel) {
  const auto it = own_down_.find(channel);
  return it == own_down_.end() ? *shared_down_ : it->second;
}

Link& World::link(Role from, ChannelId channel) {
  return from == Role::kClient ? up(channel) : down(channel);
}

void World::each_up(const std::function<void(LinkSettings&)>& change) {
  change(shared_up_->settings);
  for (auto& [id, link] : own_up_) change(link.settings);
}

void World::each_down(const std::function<void(LinkSettings&)>& change) {
  change(shared_down_->settings);
  for (auto& [id, link] : own_down_) change(link.settings);
}

void World::schedule(Time when, std::function<void()> action) {
  events_.push_back({when, order_++, std::move(action)});
  std::push_heap(events_.begin(), events_.end(), std::greater<>());
}

void World::deliver(Time when, Host& to, std::function<void()> action) {
  schedule(when, [&to, action = std::move(action)]() mutable { to.take(std::move(action)); });
}

void World::at(Duration when, std::function<void()> action) { schedule(Time(when), std::move(action)); }

Time World::next() const {
  const Time timer = std::min(client.next_wake(), server.next_wake());
  return std::max(now_, std::min(timer, events_.empty() ? kNever : events_.front().at));
}

bool World::step() {
  const Time when = next();
  if (when > now_) wakes_at_once_ = 0;
  now_ = when;
  if (!events_.empty() && events_.front().at <= now_) {
    std::pop_heap(events_.begin(), events_.end(), std::greater<>());
    const auto action = std::move(events_.back().action);
    events_.pop_back();
    action();
    return true;
  }
  if (++wakes_at_once_ > kMostWakesAtOnce) {
    ADD_FAILURE() << "a timer is due and does nothing at " << seconds_passed() << " s";
    return false;
  }
  (client.next_wake() <= server.next_wake() ? client : server).wake();
  return true;
}

bool World::run_until(const std::function<bool()>& done, Duration limit) {
  const Time end = Time(limit);
  while (!done()) {
    if (next() > end) {
      now_ = end;
      return done();
    }
    if (!step()) return false;
  }
  return true;
}

void run_together(const std::vector<World*>& worlds, Duration limit) {
  while (true) {
    World* first = *std::min_element(worlds.begin(), worlds.end(),
                                     [](const World* a, const World* b) { return a->next() < b->next(); });
    if (first->next() > Time(limit) || !first->step()) break;
  }
  for (World* world : worlds) world->pass_time(Time(limit));
}

// False: what comes finds no way in.
bool World::cross_nat(Role from, ChannelId channel, PathId& path) {
  NatEntry& entry = nat_[channel];
  const bool forgotten = now_ - entry.last_out > *settings_.nat_forgets;
  if (from == Role::kServer) return !forgotten && path == entry.address;
  if (forgotten) {
    ++entry.address;
    ++nat_changes_;
  }
  entry.last_out = now_;
  path = entry.address;
  return true;
}

bool World::cross_firewall(Role from, ChannelId channel, PathId path) {
  if (from == Role::kClient) return let_in_.contains({channel, path});
  let_in_.insert({channel, path});
  return true;
}

// The server's datagrams reach only the address that the client has now.
bool World::carry_datagram(Role from, ChannelId channel, PathId path, std::vector<std::uint8_t> packet) {
  Host& to = host(from == Role::kClient ? Role::kServer : Role::kClient);
  if (settings_.nat_forgets) {
    if (!cross_nat(from, channel, path)) return false;
  } else if (from == Role::kServer && path != client.address) {
    return false;
  }
  if (settings_.firewall && !cross_firewall(from, channel, path)) return false;
  const auto arrivals = link(from, channel).carry(now_, packet.size());
  for (const Link::Arrival& arrival : arrivals) {
    std::vector<std::uint8_t> copy = packet;
    if (arrival.corrupt) copy[copy.size() / 2] ^= 1;
    // A client knows its server by the path it probed.
    const PathId source = from == Role::kServer ? 0 : path;
    const Time at = arrival.at + settings_.access_delay;
    deliver(at, to, [&to, at, channel, source, copy = std::move(copy)]() mutable {
      to.receive_datagram(at, channel, source, std::move(copy));
    });
  }
  return !arrivals.empty();
}

void World::carry_record(Role from, ChannelId channel, const OutgoingPacket& packet,
                         std::vector<std::uint8_t> frames) {
  Host& to = host(from == Role::kClient ? Role::kServer : Role::kClient);
  Pipe& pipe = pipes_[{from, channel}];
  pipe.free_at =
      std::max({pipe.free_at, now_, stalled_until_}) +
      from_seconds(static_cast<double>(frames.size() + kSealOverhead) * 8 / settings_.ssh_rate_bps);
  const LinkSettings& link = (from == Role::kClient ? shared_up_ : shared_down_)->settings;
  deliver(pipe.free_at + settings_.access_delay + link.delay, to,
          [&to, channel, packet, frames = std::move(frames)] {
            if (to.session().channel(channel) != nullptr) to.receive_record(channel, packet, frames);
          });
}

void World::stall_pipes(Duration how_long) { stalled_until_ = now_ + how_long; }

void World::stall_pipe(ChannelId id, Duration how_long) {
  for (const Role from : {Role::kClient, Role::kServer}) pipes_[{from, id}].free_at = now_ + how_long;
}

void World::connect_tcp(ChannelId id) {
  client.session().add_stream_channel(now_, id);
  server.session().add_stream_channel(now_, id);
  client.wake();
  server.wake();
}

void World::end_tcp(ChannelId id) {
  client.session().remove_channel(now_, id);
  server.session().remove_channel(now_, id);
  client.wake();
  server.wake();
}

}  // namespace mcdtp::sim
