#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/forward_plan.h"
#include "common/io/owned_fd.h"

namespace mcdtp {

// The ports and sockets here at which a plan's -L and -D listen. What goes wrong is said in ssh's words.
class LocalPorts {
 public:
  struct Port {
    const Forward* forward;
    std::vector<OwnedFd> sockets;  // one at least
  };

  // REQUIRES: plan outlives this object. `say`: a line for the user.
  LocalPorts(const ForwardPlan& plan, std::function<void(const std::string&)> say)
      : plan_(plan), say_(std::move(say)) {}
  const ForwardPlan& plan() const { return plan_; }
  // Listens at all that can be had, the first time it is called. False: the run is nothing without one that cannot be.
  bool open();
  // Those that could be had. REQUIRES: open() was called.
  std::vector<Port> take() { return std::exchange(ports_, {}); }
  // The real ssh is to listen there.
  void give_up() { ports_.clear(); }

 private:
  void say(LogLevel level, const std::string& line) const;
  bool open_all();
  std::vector<OwnedFd> listen(const ListenEnd& end) const;

  const ForwardPlan& plan_;
  std::function<void(const std::string&)> say_;
  std::vector<Port> ports_;
  std::optional<bool> opened_;  // as open() said
};

}  // namespace mcdtp
