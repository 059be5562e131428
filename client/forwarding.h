#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/local_ports.h"
#include "client/socks_door.h"
#include "common/io/forwarder.h"
#include "common/io/listener.h"

namespace mcdtp {

// The client's forwarded ports: listens here for -L and -D, has the server listen for -R, and takes from the server
// only connections to what it was asked to listen on. What goes wrong is said in ssh's words.
class Forwarding {
 public:
  struct Callbacks {
    // All that was asked for stands, or was said not to. Once.
    std::function<void()> on_ready;
    // One could not be had that the run is nothing without: it is over.
    std::function<void()> on_failure;
    // is_idle() may have become true.
    std::function<void()> on_idle;
    // One line for the user, who wants to hear lines of that level.
    std::function<void(const std::string&)> say;
    // One line for who wants to follow what happens.
    std::function<void(const std::string&)> tell;
  };

  // REQUIRES: driver and ports outlive this object.
  Forwarding(Driver& driver, LocalPorts& ports, Callbacks callbacks);

  // Listens here, and asks the far side to. REQUIRES: called once. The callbacks may be called from within.
  void start();
  // False: it is none of ours. A stream that the server opened always is.
  bool on_news(const StreamNews& news);
  // No connection is under way, and nothing that was asked for awaits its answer: with ssh none comes after the
  // command's end.
  bool is_idle() const { return ready_ && forwarder_.count() == 0; }

 private:
  // One -R: the stream on which it was asked for.
  struct Remote {
    Forward forward;
    std::string answer;     // what has come of it, as long as it is no whole line
    bool answered = false;  // the server listens, or will not
  };

  // Each line has the level that it has in ssh.
  void say(LogLevel level, const std::string& line);
  void listen(LocalPorts::Port& port);
  void accept(const Forward& forward, const Entrance& at, std::shared_ptr<Descriptor> socket);
  void ask(const Forward& forward, const Target& target);
  void on_remote_news(StreamId stream, Remote& remote);
  void on_answer(StreamId stream, Remote& remote);
  void on_bound(const Remote& remote, std::uint16_t port);
  void on_remote_failure(StreamId stream, Remote& remote);
  void on_opened(StreamId stream, const std::string& target);
  void connect(StreamId stream, const ForwardEnd& to);
  void connect_by_socks(StreamId stream, SocksRequest request);
  bool say_connect_failed(const ForwardEnd& to, const Dialer::Outcome& outcome);
  void open_door(const Entrance& at, std::shared_ptr<Descriptor> socket);
  void admit(const Entrance& at, SocksDoor::Guest guest);
  void on_socks_news(StreamId stream, SocksRequest& request);
  std::uint64_t next_channel() const;
  bool say_open_failed(const Dialer::Outcome& outcome, std::uint64_t channel);
  void ready_if_all_answered();
  void let_command_begin();

  Driver& driver_;
  LocalPorts& ports_;
  const ForwardPlan& plan_;
  Callbacks callbacks_;
  Forwarder forwarder_;
  std::map<const Forward*, Entrance> entrances_;  // of ports here
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::map<StreamId, Remote> remotes_;
  std::list<std::unique_ptr<SocksDoor>> doors_;     // of -D: they have not said where to yet
  std::map<StreamId, SocksRequest> socks_streams_;  // of -R without a target: the same
  bool failed_ = false;
  bool ready_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

// What ssh says of a connection that could not be opened.
std::string open_failure(const Dialer::Outcome& outcome);

}  // namespace mcdtp
