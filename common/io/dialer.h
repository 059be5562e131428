#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/core/target.h"
#include "common/core/wire.h"
#include "common/io/descriptor.h"
#include "common/io/name_lookup.h"

namespace mcdtp {

// Makes one connection: looks the name up, and tries its addresses in turn. Ends with it, once.
class Dialer {
 public:
  struct Outcome {
    std::shared_ptr<Descriptor> socket;              // nullptr: none
    ResetReason reason = ResetReason::kUnreachable;  // why there is none
    std::string error;                               // the same for people: "Connection refused"
    bool at_once = false;                            // connect() itself said so
  };
  using Handler = std::function<void(Outcome)>;

  // The handler runs from io_context::run(), never from within a call, and may end this object.
  Dialer(asio::io_context& io, NameLookup& names, Handler on_outcome);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  // REQUIRES for both: the first call.
  // `family`: AF_INET, AF_INET6 or AF_UNSPEC.
  void start(const ToTcp& to, int family);
  void start(const ToUnix& to);

 private:
  void try_next();
  void connect(int family, const sockaddr* address, socklen_t size);
  void await();
  void judge(int error);
  void end_later(Outcome outcome);

  asio::io_context& io_;
  NameLookup& names_;
  Handler on_outcome_;
  std::vector<Endpoint> addresses_;  // not tried yet, the next one last
  std::shared_ptr<Descriptor> socket_;
  int error_ = 0;         // of the last one tried,
  bool at_once_ = false;  // and whether connect() itself gave it
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace mcdtp
