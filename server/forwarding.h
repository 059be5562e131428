#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/io/forwarder.h"
#include "common/io/listener.h"
#include "server/policy.h"

namespace mcdtp {

// What the client's streams ask for: connections from here, and ports that we listen on, as the policy allows.
class ServerForwarding {
 public:
  // `on_asked`: called for each port that the client has asked us to listen on, once we do, or have said why not.
  // `dial_patience`: see Forwarder.
  ServerForwarding(Driver& driver, const Policy& policy, std::function<void()> on_asked,
                   Duration dial_patience = Forwarder::kDialPatience)
      : driver_(driver),
        policy_(policy),
        on_asked_(std::move(on_asked)),
        forwarder_(
            driver, [this] { on_drained_(); }, dial_patience) {}

  // False: it is none of ours. A stream that the client opened always is.
  bool on_news(const StreamNews& news);
  // The client is gone: see Forwarder::drain(). `on_done`: nothing is left to be done, maybe at once.
  void drain(std::function<void()> on_done);
  // Changes whenever a program takes something.
  std::uint64_t taken() const { return forwarder_.taken(); }

 private:
  // A port that a stream has asked for. It lasts as long as that.
  struct Port {
    Entrance entrance;
    std::vector<std::unique_ptr<Listener>> listeners;
  };

  void on_opened(StreamId stream, const std::string& target);
  void connect(StreamId stream, const Target& target);
  void listen(StreamId stream, const Target& target);
  void accept_on(StreamId stream, Listening listening);
  bool start_listeners(StreamId stream, Listening& listening);
  void answer(StreamId stream, const ListenAnswer& answer);
  void on_listener_news(StreamId stream);

  Driver& driver_;
  Policy policy_;
  std::function<void()> on_asked_;
  std::function<void()> on_drained_ = [] {};
  Forwarder forwarder_;
  std::map<StreamId, Port> ports_;
};

}  // namespace mcdtp
