#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/core/seal.h"
#include "common/core/session.h"
#include "common/io/byte_pipe.h"
#include "common/io/udp_socket.h"

namespace mcdtp {

// The host that has logged in, as the server knows it.
struct LoginHost {
  Endpoint address;    // port 0
  bool alone = false;  // what comes from elsewhere is a stranger's
};

// One datagram channel: its socket, its keys, the addresses that its paths stand for.
// Sends trains: packets of one size are sealed behind one another and go in one call.
class UdpChannel {
 public:
  // `paths[i]` is the address of PathId i; further ones are learnt from authenticated packets.
  UdpChannel(ChannelId id, std::unique_ptr<UdpSocket> socket, const SessionKeys& keys, Role role,
             std::vector<Endpoint> paths, std::optional<LoginHost> login_host = std::nullopt);

  ChannelId id() const { return id_; }
  UdpSocket& socket() { return *socket_; }

  // Reads once; every packet that opens goes to the session. True: there may be more.
  bool receive(ReceiveBatch& batch, Session& session);
  // The peer says that it sends from this port: so of the host that has logged in, where that is known.
  void expect(Time now, Session& session, std::uint16_t port);

  enum class Sent {
    kNothing,  // the session had nothing for this channel
    kSome,
    kBlocked,   // wait until the socket is writable
    kNoBuffers  // try again in a millisecond
  };
  // One train at the most.
  Sent send(Time now, Session& session);
  // The rest of a train that was not accepted. kNothing: none is left.
  Sent resume();
  // Bytes of UDP payload in the largest datagrams that the way out to `path` takes.
  std::size_t mtu_limit(PathId path) const;
  // The way out has refused a datagram of more than PathMtu::kBase bytes as too large since this was last asked.
  std::optional<std::size_t> take_too_large() { return std::exchange(too_large_, std::nullopt); }

  const Endpoint& address(PathId path) const { return paths_.at(path); }
  std::uint64_t unopened() const { return unopened_; }

 private:
  static constexpr std::size_t kTrainBytes = PathMtu::kMost;
  static constexpr std::size_t kTrainPackets = 64;
  static constexpr std::size_t kMaxLearnt = 64;

  bool is_login_host(const Endpoint& from) const;
  bool is_newest(const Session& session, PacketNumber number) const;
  std::optional<PathId> find_path(const Endpoint& from) const;
  PathId add_path(const Endpoint& from, const Session& session);
  void forget_oldest_path(const Session& session);
  // Appends one packet at `end_`. False: the train ends before it, or with it.
  bool append_packet(Time now, Session& session);
  Sent flush();

  ChannelId id_;
  std::unique_ptr<UdpSocket> socket_;
  Sealer sealer_;
  Opener opener_;
  PathId candidates_;  // so many addresses of our own choosing; the others were learnt
  PathId next_path_;
  std::map<PathId, Endpoint> paths_;
  std::optional<LoginHost> login_host_;
  std::vector<std::uint8_t> train_;
  std::size_t begin_ = 0;    // of what is not accepted yet
  std::size_t end_ = 0;      // of what is sealed
  std::size_t segment_ = 0;  // size of the packets from begin_ on, the last may be shorter
  std::size_t count_ = 0;    // packets in the train
  PathId to_ = 0;
  // A packet that did not fit the train before it starts the next one.
  struct Next {
    std::size_t size;
    PathId path;
  };
  std::optional<Next> next_;
  std::optional<std::size_t> too_large_;
  std::uint64_t unopened_ = 0;
};

// One stream channel: the SSH channel (not sealed, ssh does that) or a TCP connection (sealed).
class PipeChannel {
 public:
  // `keys` null: not sealed.
  PipeChannel(ChannelId id, BytePipe pipe, const SessionKeys* keys, Role role);

  ChannelId id() const { return id_; }
  BytePipe& pipe() { return pipe_; }

  // Reads once; kBroken also for a packet that does not open or is of another channel.
  BytePipe::Status receive(Session& session);
  // One record, if the pipe takes it. True: one was sent.
  bool send(Time now, Session& session, BytePipe::Status& status);

 private:
  ChannelId id_;
  BytePipe pipe_;
  std::optional<Sealer> sealer_;
  std::optional<Opener> opener_;
};

inline Direction outgoing(Role role) {
  return role == Role::kClient ? Direction::kClientToServer : Direction::kServerToClient;
}
inline Direction incoming(Role role) {
  return role == Role::kClient ? Direction::kServerToClient : Direction::kClientToServer;
}

}  // namespace mcdtp
