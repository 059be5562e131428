#pragma once

#include <functional>
#include <memory>

#include "common/core/socks.h"
#include "common/core/wire.h"
#include "common/io/descriptor.h"

namespace mcdtp {

// What SOCKS calls a target that could not be reached.
SocksReply socks_failure(ResetReason reason);

// A connection that came in at a -D port, until its program has said where it is to go. Nobody waits for one that says
// nothing: it keeps its descriptor, as with ssh, and no stream.
class SocksDoor {
 public:
  // What is known then; `early` came after the request and belongs to the connection. The socket is its taker's.
  struct Guest {
    std::shared_ptr<Descriptor> socket;
    SocksRequest request;
    Bytes early;
  };
  // `on_target` is called at most once, `on_end` once after it or instead; neither may end this object.
  SocksDoor(std::shared_ptr<Descriptor> socket, std::function<void(Guest)> on_target,
            std::function<void()> on_end);
  ~SocksDoor();
  SocksDoor(const SocksDoor&) = delete;
  SocksDoor& operator=(const SocksDoor&) = delete;

 private:
  void wait();
  void read();
  void take(Bytes bytes);
  void end();

  std::shared_ptr<Descriptor> socket_;
  std::function<void(Guest)> on_target_;
  std::function<void()> on_end_;
  SocksRequest request_;
};

// Writes it at once; a socket that has no room for a few bytes has a program that reads nothing.
void write_socks(Descriptor& socket, const std::vector<std::uint8_t>& answer);

}  // namespace mcdtp
