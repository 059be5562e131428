#include "common/io/listener.h"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "common/io/unresolved.h"

namespace mcdtp {
namespace {

// Whoever finds no room for one more stream waits here; whoever finds none here is reset after a while.
constexpr int kBacklog = SOMAXCONN;
constexpr auto kPause = milliseconds(50);

void set_on(int fd, int level, int name) {
  const int on = 1;
  setsockopt(fd, level, name, &on, sizeof on);
}

std::uint16_t bound_port(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  const auto endpoint = Endpoint::from_sockaddr(reinterpret_cast<sockaddr*>(&address), size);
  return endpoint ? endpoint->port() : std::uint16_t{0};
}

// Nothing: the call has said why in errno.
OwnedFd listen_at(const Endpoint& address, std::string& failure) {
  const auto fail = [&](const std::string& attempt) {
    failure = attempt + ": " + std::strerror(errno);
    return OwnedFd();
  };
  const int fd = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  // ssh says nothing of a kernel without IPv6.
  if (fd < 0) return errno == EAFNOSUPPORT ? OwnedFd() : fail("socket");
  OwnedFd owned(fd);
  set_on(fd, SOL_SOCKET, SO_REUSEADDR);
  if (!address.is_v4()) set_on(fd, IPPROTO_IPV6, IPV6_V6ONLY);
  if (bind(fd, address.data(), address.size()) != 0)
    return fail("bind [" + address.address_text() + "]:" + std::to_string(address.port()));
  if (listen(fd, kBacklog) != 0) return fail("listen");
  return owned;
}

// Restores the process's mask, which is not ours alone for long: nothing else makes files meanwhile.
class Umask {
 public:
  explicit Umask(mode_t mask) : before_(umask(mask)) {}
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;
  ~Umask() { umask(before_); }

 private:
  mode_t before_;
};

OwnedFd listen_at_path(const std::string& path, const UnixSocketRules& rules, std::string& failure) {
  const auto fail = [&](const std::string& attempt, int error) {
    failure = attempt + ": " + std::strerror(error);
    return OwnedFd();
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail("path \"" + path + "\" too long for Unix domain socket", ENAMETOOLONG);
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail("socket", errno);
  OwnedFd owned(fd);
  if (rules.unlink_first && unlink(path.c_str()) != 0 && errno != ENOENT)
    return fail("unlink " + path, errno);
  const Umask mask(rules.mask);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail("unix_listener: cannot bind to path " + path, errno);
  if (listen(fd, kBacklog) != 0) return fail("unix_listener: cannot listen on path " + path, errno);
  return owned;
}

bool is_out_of_room(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

// In the order in which getaddrinfo() has them, and so ssh.
std::vector<Endpoint> listen_addresses(const std::string& address, std::uint16_t port, int family,
                                       ListenNames names) {
  std::vector<Endpoint> found;
  if (address.empty()) {
    found = {Endpoint::any(AF_INET, port), Endpoint::any(AF_INET6, port)};
  } else if (address == "localhost") {
    found = {*Endpoint::from_text("::1", port), *Endpoint::from_text("127.0.0.1", port)};
  } else if (const auto digits = Endpoint::from_text(address, port)) {
    found = {*digits};
  } else if (names == ListenNames::kAsk) {
    return resolve(address, port, family);
  }
  std::erase_if(found, [&](const Endpoint& e) { return family != AF_UNSPEC && e.family() != family; });
  if (found.empty() && names == ListenNames::kAsk) throw Unresolved(address, kOtherFamily);
  return found;
}

Listening listen_tcp(const std::vector<Endpoint>& addresses) {
  Listening result;
  for (const Endpoint& wanted : addresses) {
    const Endpoint address = wanted.port() == 0 ? wanted.with_port(result.port) : wanted;
    result.failure.clear();
    OwnedFd socket = listen_at(address, result.failure);
    if (!socket.is_open()) continue;
    if (result.port == 0) result.port = bound_port(socket.get());
    result.sockets.push_back(std::move(socket));
  }
  return result;
}

Listening listen_unix(const std::string& path, const UnixSocketRules& rules) {
  Listening result;
  OwnedFd socket = listen_at_path(path, rules, result.failure);
  if (socket.is_open()) result.sockets.push_back(std::move(socket));
  return result;
}

void set_forwarding_options(int fd) {
  set_on(fd, IPPROTO_TCP, TCP_NODELAY);
  set_on(fd, SOL_SOCKET, SO_KEEPALIVE);
}

Listener::Listener(asio::io_context& io, OwnedFd socket, MayAccept may_accept, OnAccept on_accept)
    : io_(io),
      socket_(io, socket.release()),
      pause_(io),
      may_accept_(std::move(may_accept)),
      on_accept_(std::move(on_accept)) {
  wait();
}

void Listener::wait() {
  socket_.async_wait_readable([this](std::error_code error) {
    if (!error) accept();
  });
}

void Listener::accept() {
  none_left_ = false;
  for (int accepted = 0; accepted < kAcceptsPerTurn && !none_left_; ++accepted) {
    if (!may_accept_() || !accept_one()) return pause();
  }
  wait();
}

// What waits to be accepted would wake us again and again.
void Listener::pause() {
  pause_.expires_after(kPause);
  // A handler that is due already runs although its timer is gone.
  pause_.async_wait([this, alive = std::weak_ptr(alive_)](std::error_code error) {
    if (alive.expired()) return;
    if (!error) accept();
  });
}

bool Listener::accept_one() {
  const int fd = accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) {
    none_left_ = !is_out_of_room(errno);
    return none_left_;
  }
  set_forwarding_options(fd);
  try {
    on_accept_(std::make_shared<Descriptor>(io_, fd));
  } catch (const std::runtime_error&) {
    // The connection is gone: nothing could watch it.
    return false;
  }
  return true;
}

}  // namespace mcdtp
