#include "common/io/driver.h"

#include <asio/post.hpp>
#include <utility>

#include "common/io/system.h"

namespace mcdtp {
namespace {

// Reads of one socket before the others have their turn.
constexpr int kReadsPerTurn = 4;
// Trains sent before what has come in has its turn: where nothing paces them there may be no end of them.
constexpr int kTrainsPerTurn = 64;
constexpr auto kNoBuffersPause = milliseconds(1);

}  // namespace

Driver::Driver(asio::io_context& io, SessionConfig config, const SessionKeys& keys, Callbacks callbacks)
    : io_(io),
      keys_(keys),
      role_(config.role),
      callbacks_(std::move(callbacks)),
      session_(now(), std::move(config)),
      timer_(io) {}

Driver::~Driver() { stop(); }

void Driver::stop() {
  stopped_ = true;
  timer_.cancel();
  for (auto& [id, timer] : retry_timers_) timer->cancel();
  for (auto& [id, channel] : pipes_) {
    channel->pipe().flush();
    channel->pipe().in().cancel();
    channel->pipe().out().cancel();
  }
  for (auto& [id, channel] : udp_) channel->socket().cancel();
}

void Driver::add_udp(ChannelId id, std::unique_ptr<UdpSocket> socket, std::vector<Endpoint> paths,
                     std::optional<LoginHost> login_host) {
  std::vector<PathId> candidates;
  // A client probes on channel 0; the others follow the path that answers.
  for (PathId path = 0; id == 0 && path < paths.size(); ++path) candidates.push_back(path);
  udp_[id] = std::make_unique<UdpChannel>(id, std::move(socket), keys_, role_, std::move(paths), login_host);
  session_.add_datagram_channel(now(), id, candidates);
  wait_udp_readable(id);
  kick();
}

void Driver::expect_udp(ChannelId id, std::uint16_t port) {
  if (!udp_.contains(id)) return;
  udp_.at(id)->expect(now(), session_, port);
  kick();
}

void Driver::add_ssh(std::shared_ptr<Descriptor> in, std::shared_ptr<Descriptor> out, Bytes early) {
  BytePipe pipe(std::move(in), std::move(out));
  pipe.feed(early);
  pipes_[kSshChannel] = std::make_unique<PipeChannel>(kSshChannel, std::move(pipe), nullptr, role_);
  session_.add_stream_channel(now(), kSshChannel);
  read_early(kSshChannel);
}

// Whole packets may have come before the channel was made: reads once without waiting for more.
void Driver::read_early(ChannelId id) {
  asio::post(io_, [this, id] {
    if (stopped_ || !pipes_.contains(id)) return;
    receive_from_pipe(id);
  });
}

void Driver::add_link(ChannelId id, BytePipe pipe) {
  pipes_[id] = std::make_unique<PipeChannel>(id, std::move(pipe), &keys_, role_);
  session_.add_stream_channel(now(), id);
  read_early(id);
}

void Driver::remove_link(ChannelId id) {
  const auto it = pipes_.find(id);
  if (it == pipes_.end()) return;
  it->second->pipe().in().cancel();
  it->second->pipe().out().cancel();
  pipes_.erase(it);
  session_.remove_channel(now(), id);
  kick();
}

void Driver::remove_udp_above(std::size_t count) {
  udp_.erase(udp_.lower_bound(static_cast<ChannelId>(count)), udp_.end());
}

void Driver::kick() {
  if (turn_posted_ || stopped_) return;
  turn_posted_ = true;
  asio::post(io_, [this] { turn(); });
}

void Driver::turn() {
  turn_posted_ = false;
  if (stopped_) return;
  session_.on_timeout(now());
  deliver();
  send_all();
  deliver();
  set_timer();
}

void Driver::deliver() {
  while (const auto news = session_.poll_stream_news()) callbacks_.on_stream_news(*news);
  while (const auto event = session_.poll_event()) {
    if (stopped_) return;
    callbacks_.on_event(*event);
  }
}

// Round after round, a train for each channel, until the session has nothing more to send now.
void Driver::send_all() {
  int trains = 0;
  for (bool any = true; any && !stopped_;) {
    any = false;
    for (auto& [id, channel] : udp_) {
      if (!send_udp(*channel)) continue;
      any = true;
      ++trains;
    }
    for (auto& [id, channel] : pipes_) any = send_pipe(id, *channel) || any;
    if (trains >= kTrainsPerTurn) return kick();
  }
}

bool Driver::send_udp(UdpChannel& channel) {
  const Channel* state = session_.channel(channel.id());
  if (state == nullptr || state->blocked) return false;
  const UdpChannel::Sent sent = channel.send(now(), session_);
  if (sent == UdpChannel::Sent::kBlocked || sent == UdpChannel::Sent::kNoBuffers) {
    wait_udp_writable(channel.id(), channel, sent == UdpChannel::Sent::kNoBuffers);
  }
  set_mtu_limit(channel);
  return sent != UdpChannel::Sent::kNothing;
}

// Asked for only when the session has use for it, and when the system says that it has changed.
void Driver::set_mtu_limit(UdpChannel& channel) {
  const auto refused = channel.take_too_large();
  if (!refused && !session_.wants_mtu_limit(channel.id())) return;
  const auto path = session_.channel(channel.id())->paths.active();
  if (!path) return;
  session_.set_mtu_limit(now(), channel.id(), channel.mtu_limit(*path));
  if (refused) session_.on_mtu_refused(now(), channel.id(), *refused);
}

bool Driver::send_pipe(ChannelId id, PipeChannel& channel) {
  const Channel* state = session_.channel(id);
  if (state == nullptr || state->blocked) return false;
  BytePipe::Status status = BytePipe::Status::kOpen;
  const bool sent = channel.send(now(), session_, status);
  // Who takes nothing more has ended as a rule, but not what has come from there: its reader finds the end.
  if (status != BytePipe::Status::kOpen) {
    session_.set_blocked(id, true);
    return false;
  }
  if (channel.pipe().waiting()) wait_pipe_writable(id, channel);
  return sent;
}

// ---- readiness ----

void Driver::wait_udp_readable(ChannelId id) {
  udp_.at(id)->socket().async_wait_readable([this, id](std::error_code error) {
    if (error || stopped_ || !udp_.contains(id)) return;
    receive_udp(*udp_.at(id));
    wait_udp_readable(id);
    kick();
  });
}

void Driver::receive_udp(UdpChannel& channel) {
  for (int reads = 0; reads < kReadsPerTurn && channel.receive(batch_, session_);) ++reads;
}

void Driver::receive_udp() {
  for (auto& [id, channel] : udp_) receive_udp(*channel);
}

void Driver::wait_udp_writable(ChannelId id, UdpChannel& channel, bool by_timer) {
  session_.set_blocked(id, true);
  const auto handler = [this, id](std::error_code error) {
    if (!error && !stopped_ && udp_.contains(id)) resume_udp(id);
  };
  if (!by_timer) return channel.socket().async_wait_writable(handler);
  auto& timer = retry_timers_[id];
  if (!timer) timer = std::make_unique<asio::steady_timer>(io_);
  timer->expires_after(kNoBuffersPause);
  timer->async_wait(handler);
}

void Driver::resume_udp(ChannelId id) {
  UdpChannel& channel = *udp_.at(id);
  const UdpChannel::Sent sent = channel.resume();
  if (sent == UdpChannel::Sent::kBlocked || sent == UdpChannel::Sent::kNoBuffers) {
    return wait_udp_writable(id, channel, sent == UdpChannel::Sent::kNoBuffers);
  }
  session_.set_blocked(id, false);
  kick();
}

void Driver::wait_pipe_readable(ChannelId id) {
  pipes_.at(id)->pipe().in().async_wait_readable([this, id](std::error_code error) {
    if (!error && !stopped_ && pipes_.contains(id)) receive_from_pipe(id);
  });
}

void Driver::receive_from_pipe(ChannelId id) {
  const BytePipe::Status status = pipes_.at(id)->receive(session_);
  kick();
  if (status != BytePipe::Status::kOpen) return pipe_ended(id);
  wait_pipe_readable(id);
}

void Driver::wait_pipe_writable(ChannelId id, PipeChannel& channel) {
  session_.set_blocked(id, true);
  channel.pipe().out().async_wait_writable([this, id](std::error_code error) {
    if (error || stopped_ || !pipes_.contains(id)) return;
    PipeChannel& waiting = *pipes_.at(id);
    if (waiting.pipe().flush() != BytePipe::Status::kOpen) return;  // blocked for good, see send_pipe()
    if (waiting.pipe().waiting()) return wait_pipe_writable(id, waiting);
    session_.set_blocked(id, false);
    kick();
  });
}

void Driver::pipe_ended(ChannelId id) {
  remove_link(id);
  // What came before the end still counts.
  if (id == kSshChannel) receive_udp();
  deliver();
  if (id == kSshChannel) {
    if (!stopped_) callbacks_.on_ssh_end();
  } else {
    callbacks_.on_link_end(id);
  }
}

void Driver::set_timer() {
  const Time at = session_.next_timeout();
  // One that is armed for an earlier time stays: most time-outs are put off again and again, and each arming is a call.
  if (at >= timer_at_) return;
  timer_at_ = at;
  timer_.expires_at(asio::steady_timer::time_point(
      std::chrono::duration_cast<asio::steady_timer::duration>(at.time_since_epoch())));
  timer_.async_wait([this](std::error_code error) {
    if (error || stopped_) return;
    timer_at_ = kNever;
    turn();
  });
}

}  // namespace mcdtp
