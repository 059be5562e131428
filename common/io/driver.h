#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>

#include "common/io/channel_io.h"

namespace mcdtp {

// Carries packets between a session and its sockets and pipes, and keeps its time. Makes no decision of the
// protocol. All work is done in turns: what is ready is read in batches, then one turn lets the session send.
// REQUIRES: one thread; the owner outlives io_context::run() and no handler destroys the driver.
class Driver {
 public:
  struct Callbacks {
    std::function<void(const SessionEvent&)> on_event;
    std::function<void(const StreamNews&)> on_stream_news;
    // The SSH channel has ended: the session's life is over.
    std::function<void()> on_ssh_end;
    // A TCP link has ended; its channel is removed from the session already.
    std::function<void(ChannelId)> on_link_end;
  };

  Driver(asio::io_context& io, SessionConfig config, const SessionKeys& keys, Callbacks callbacks);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // A client probes the addresses `paths`, a server learns them and is told the host of the log-in, if it knows that.
  void add_udp(ChannelId id, std::unique_ptr<UdpSocket> socket, std::vector<Endpoint> paths,
               std::optional<LoginHost> login_host = std::nullopt);
  // To a server: the client says that it sends on this channel from this port.
  void expect_udp(ChannelId id, std::uint16_t port);
  // The SSH channel; `early` are bytes read from it before.
  void add_ssh(std::shared_ptr<Descriptor> in, std::shared_ptr<Descriptor> out, Bytes early);
  void add_link(ChannelId id, BytePipe pipe);
  void remove_link(ChannelId id);
  // All but the first `count`, whose channels the session has closed.
  void remove_udp_above(std::size_t count);

  Session& session() { return session_; }
  const Session& session() const { return session_; }
  Streams& streams() { return session_.streams(); }
  const SessionKeys& keys() const { return keys_; }
  Role role() const { return role_; }
  asio::io_context& io() { return io_; }
  const std::map<ChannelId, std::unique_ptr<UdpChannel>>& udp_channels() const { return udp_; }
  // Lets the session act soon: to be called after its streams were touched.
  void kick();
  // Writes out what the pipes still hold, as far as they take it, and waits for nothing more.
  void stop();

 private:
  void turn();
  void deliver();
  void send_all();
  bool send_udp(UdpChannel& channel);
  void set_mtu_limit(UdpChannel& channel);
  bool send_pipe(ChannelId id, PipeChannel& channel);
  void wait_udp_readable(ChannelId id);
  void wait_udp_writable(ChannelId id, UdpChannel& channel, bool by_timer);
  void resume_udp(ChannelId id);
  void receive_udp(UdpChannel& channel);
  void receive_udp();  // of all
  void read_early(ChannelId id);
  void wait_pipe_readable(ChannelId id);
  void receive_from_pipe(ChannelId id);
  void wait_pipe_writable(ChannelId id, PipeChannel& channel);
  void pipe_ended(ChannelId id);
  void set_timer();

  asio::io_context& io_;
  const SessionKeys& keys_;
  Role role_;
  Callbacks callbacks_;
  Session session_;
  ReceiveBatch batch_;
  std::map<ChannelId, std::unique_ptr<UdpChannel>> udp_;
  std::map<ChannelId, std::unique_ptr<PipeChannel>> pipes_;
  std::map<ChannelId, std::unique_ptr<asio::steady_timer>> retry_timers_;
  asio::steady_timer timer_;
  Time timer_at_ = kNever;
  bool turn_posted_ = false;
  bool stopped_ = false;
};

}  // namespace mcdtp
