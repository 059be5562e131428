#pragma once

#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "common/io/driver.h"
#include "common/io/links.h"

namespace mcdtp {

// One direct TCP connection of the client: connects, hands the connection to the driver, and does it again when it has
// ended, or proves to carry nothing. Each connection is a channel of its own.
class TcpConnector {
 public:
  // Gives each channel number once, from kFirstTcpChannel on; nothing when none is left.
  using NextId = std::function<std::optional<ChannelId>()>;

  // `candidates`: far addresses with port, tried in turn, 5 s each. `is_first`: the others leave the last descriptors to
  // whoever needs them more.
  TcpConnector(Driver& driver, const std::vector<Endpoint>& candidates, NextId next_id, bool is_first);
  // At the candidate of that number first.
  void start(std::size_t candidate);
  // Makes none any more; the one that stands stays.
  void stop();
  // That ends, too.
  void end();
  // The connection carries packets.
  void on_proved();
  // It has ended, and another one is made.
  void on_end();
  // There is something to send: where one has been proved before, and none stands or is being made, it is not waited any
  // more. True: one is being made.
  bool hurry();

  bool is_stopped() const { return stopped_; }
  std::optional<ChannelId> link() const { return link_; }
  // Where it has connected to, or does.
  std::size_t candidate() const { return candidate_; }

 private:
  void connect();
  void give_up_connecting();
  void try_next();
  void connected();
  void await_proof();
  void retry();
  bool is_trying() const { return socket_.is_open(); }

  Driver& driver_;
  const std::vector<Endpoint>& candidates_;
  NextId next_id_;
  bool is_first_;
  std::size_t candidate_ = 0;
  std::uint64_t attempts_ = 0;  // handlers of an earlier one do nothing
  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  Duration pause_;
  std::optional<ChannelId> link_;
  std::optional<std::size_t> proved_;  // the candidate where one was, the last time
  bool stopped_ = true;
};

// The client's direct TCP connections.
class TcpLinks : public Links {
 public:
  // `candidates`: far addresses with port.
  TcpLinks(Driver& driver, std::vector<Endpoint> candidates);
  // At least one; what is too many ends.
  void want(std::size_t count) override;
  void on_proved(ChannelId id) override;
  void on_link_end(ChannelId id) override;
  // One tries, and once it has a connection the others do.
  void hurry() override;
  void stop() override;
  std::size_t proved() const override { return proved_.size(); }
  std::string_view kind() const override {
    return proved() == 1 ? "a direct TCP connection" : "another TCP connection";
  }

 private:
  TcpConnector* find(ChannelId id);

  Driver& driver_;
  std::vector<Endpoint> candidates_;
  ChannelId next_id_ = kFirstTcpChannel;
  std::vector<std::unique_ptr<TcpConnector>> connectors_;
  std::set<ChannelId> proved_;
};

// The server's end: listens while there are fewer links than wanted. A connection is a stranger's until its first record,
// which may have kMaxHello bytes and must come within kHelloPatience, opens under the keys of the channel that it names, one
// that no connection before it had.
class TcpAcceptor {
 public:
  // ... or as many as are wanted.
  static constexpr std::size_t kMaxPending = 16;
  static constexpr std::size_t kMaxHello = 64;
  static constexpr Duration kHelloPatience = seconds(5);

  TcpAcceptor(Driver& driver, const Endpoint& local);
  // Listens. False: the port is taken.
  bool start();
  // With the port that the system has chosen, where it was to choose one.
  const Endpoint& local() const { return local_; }
  // So many links, at least one. What there is already stays.
  void want(std::size_t count);
  void on_link_end(ChannelId id);
  void stop();

 private:
  struct Pending;
  using PendingList = std::list<std::shared_ptr<Pending>>;

  bool has_all() const { return links_.size() >= wanted_; }
  void listen_if_wanted();
  void stop_listening();
  void accept();
  // False: there is no descriptor for it.
  bool admit(int fd);
  void accept_later();
  void await_hello(const std::shared_ptr<Pending>& pending);
  void read_hello(const std::shared_ptr<Pending>& pending);
  void judge_hello(const std::shared_ptr<Pending>& pending);
  bool has_room_for(const Descriptor& link) const;
  void adopt(ChannelId id, Bytes early, std::shared_ptr<Descriptor> descriptor);
  void drop(const std::shared_ptr<Pending>& pending);

  Driver& driver_;
  Endpoint local_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  PendingList pending_;
  std::set<ChannelId> used_;   // ever
  std::set<ChannelId> links_;  // that stand
  std::size_t wanted_ = 1;
  bool stopped_ = false;
};

}  // namespace mcdtp
