#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "common/core/socks.h"
#include "common/core/wire.h"
#include "common/io/descriptor.h"

namespace mcdtp {

// What SOCKS calls a target that could not be reached.
SocksReply socks_failure(ResetReason reason);

// A connection that came in at a -D port, until its program has said where it is to go and there is a stream to take it
// there. Nobody waits for one that says nothing: it keeps its descriptor, as with ssh, and no stream.
class SocksDoor {
 public:
  // What is known then; `early` came after the request and belongs to the connection. The socket is its taker's.
  struct Guest {
    std::shared_ptr<Descriptor> socket;
    SocksRequest request;
    Bytes early;
  };
  // `may_leave` says whether on_target could take the guest now; that is called at most once, `on_end` once after it or
  // instead. None may end this object.
  SocksDoor(asio::io_context& io, std::shared_ptr<Descriptor> socket, std::function<bool()> may_leave,
            std::function<void(Guest)> on_target, std::function<void()> on_end);
  ~SocksDoor();
  SocksDoor(const SocksDoor&) = delete;
  SocksDoor& operator=(const SocksDoor&) = delete;

 private:
  void wait();
  void read();
  void take(Bytes bytes);
  void leave();
  void end();

  std::shared_ptr<Descriptor> socket_;
  asio::steady_timer pause_;
  std::function<bool()> may_leave_;
  std::function<void(Guest)> on_target_;
  std::function<void()> on_end_;
  SocksRequest request_;
  std::vector<std::uint8_t> early_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

// Writes it at once; a socket that has no room for a few bytes has a program that reads nothing.
void write_socks(Descriptor& socket, const std::vector<std::uint8_t>& answer);

}  // namespace mcdtp
