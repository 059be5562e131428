#pragma once

#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <list>
#include <optional>
#include <vector>

#include "common/io/driver.h"

namespace mcdtp {

// The client's end of the control link: connects, hands the connection to the driver, and does it again when it
// has ended, or proves to carry nothing. Each connection is a channel of its own. That none can be made changes
// nothing: SSH is there.
class TcpConnector {
 public:
  // `candidates`: far addresses with port, tried in turn, 5 s each.
  TcpConnector(Driver& driver, std::vector<Endpoint> candidates);
  void start();
  // The link of the last connection carries packets.
  void on_proved();
  void on_link_end(ChannelId id);
  void stop();

 private:
  void connect();
  void give_up_connecting(std::uint64_t attempt);
  void connected();
  void await_proof(ChannelId id);
  void retry();

  Driver& driver_;
  std::vector<Endpoint> candidates_;
  std::size_t next_candidate_ = 0;
  ChannelId next_id_ = kFirstTcpChannel;
  std::uint64_t attempts_ = 0;
  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  Duration pause_;
  bool stopped_ = false;
};

// The server's end: listens while no link is up. A connection is a stranger's until its first record, which
// may have kMaxHello bytes and must come within kHelloPatience, opens under the keys of the channel that it
// names, a larger one than any before.
class TcpAcceptor {
 public:
  static constexpr std::size_t kMaxPending = 16;
  static constexpr std::size_t kMaxHello = 64;
  static constexpr Duration kHelloPatience = seconds(5);

  TcpAcceptor(Driver& driver, const Endpoint& local);
  // Listens. False: the port is taken.
  bool start();
  void on_link_end(ChannelId id);
  void stop();

 private:
  struct Pending;
  using PendingList = std::list<std::shared_ptr<Pending>>;

  void accept();
  // False: there is no descriptor for it.
  bool admit(int fd);
  void accept_later();
  void listen_later();
  void await_hello(const std::shared_ptr<Pending>& pending);
  void read_hello(const std::shared_ptr<Pending>& pending);
  void judge_hello(const std::shared_ptr<Pending>& pending);
  void adopt(ChannelId id, Bytes early, std::shared_ptr<Descriptor> descriptor);
  void drop(const std::shared_ptr<Pending>& pending);

  Driver& driver_;
  Endpoint local_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  PendingList pending_;
  ChannelId newest_ = kFirstTcpChannel - 1;
  std::optional<ChannelId> link_;
  bool stopped_ = false;
};

}  // namespace mcdtp
