#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/io/descriptor.h"
#include "common/io/endpoint.h"
#include "common/io/owned_fd.h"

namespace mcdtp {

// What came of the wish to listen: sockets that do, or none, and what failed, as ssh words it.
struct Listening {
  std::vector<OwnedFd> sockets;
  std::uint16_t port = 0;  // of TCP
  std::string
      failure;  // why the last address could not be had; empty: it could, whatever became of the others
};

// Where to listen for what stands in a forward's specification: "" is all addresses, "localhost" the loopback's, all
// else an address in digits or, where `names` may be asked, a name; that blocks as long as the resolver does. `family`:
// AF_INET, AF_INET6, or AF_UNSPEC for both. Empty: it names nothing; where names may be asked, throws Unresolved instead.
enum class ListenNames { kAsk, kDigitsOnly };
std::vector<Endpoint> listen_addresses(const std::string& address, std::uint16_t port, int family,
                                       ListenNames names);

// Listens on all of `addresses`, whose port counts. With port 0 the first one's choice is the others' too.
Listening listen_tcp(const std::vector<Endpoint>& addresses);

// `unlink_first`: what stands at the path goes. `mask`: as umask, for the socket's mode.
struct UnixSocketRules {
  bool unlink_first = false;
  mode_t mask = 0177;
};
Listening listen_unix(const std::string& path, const UnixSocketRules& rules);

// For TCP sockets that carry forwarded bytes: no delay for small ones, and a far end that is gone is noticed.
void set_forwarding_options(int fd);

// Accepts connections on one socket. While there are no descriptors, or `may_accept` says no, those that wait are left
// waiting, and it looks again a little later.
class Listener {
 public:
  using MayAccept = std::function<bool()>;
  using OnAccept = std::function<void(std::shared_ptr<Descriptor>)>;
  // REQUIRES: neither callback ends this object.
  Listener(asio::io_context& io, OwnedFd socket, MayAccept may_accept, OnAccept on_accept);

 private:
  static constexpr int kAcceptsPerTurn = 16;

  void wait();
  void accept();
  void pause();
  // False: out of descriptors.
  bool accept_one();

  asio::io_context& io_;
  Descriptor socket_;
  asio::steady_timer pause_;
  MayAccept may_accept_;
  OnAccept on_accept_;
  bool none_left_ = false;  // nobody waits to be accepted
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace mcdtp
