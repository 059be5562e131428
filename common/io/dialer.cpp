#include "common/io/dialer.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "common/io/listener.h"

namespace mcdtp {
namespace {

ResetReason reason_of(int error) {
  switch (error) {
    case ECONNREFUSED:
    case ENOENT:
    case EACCES:
    case ENOTSOCK:
    case EPROTOTYPE: return ResetReason::kRefused;
    // It was there already, and was reset before we looked.
    case ECONNRESET: return ResetReason::kGivenUp;
    case ENETDOWN:
    case ENETUNREACH: return ResetReason::kNetworkUnreachable;
    case ETIMEDOUT: return ResetReason::kNoAnswer;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return ResetReason::kTooMany;
    default: return ResetReason::kUnreachable;
  }
}

ResetReason reason_of(const Unresolved& failure) {
  return failure.is_temporary() ? ResetReason::kNoNameServer : ResetReason::kUnknownName;
}

}  // namespace

Dialer::Dialer(asio::io_context& io, NameLookup& names, Handler on_outcome)
    : io_(io), names_(names), on_outcome_(std::move(on_outcome)) {}

Dialer::~Dialer() {
  if (socket_) socket_->cancel();
}

void Dialer::start(const ToTcp& to, int family) {
  const auto take = [this, alive = std::weak_ptr(alive_)](NameLookup::Answer answer) {
    if (alive.expired()) return;
    if (answer.failure) return end_later({nullptr, reason_of(*answer.failure), answer.failure->reason()});
    addresses_ = std::move(answer.addresses);
    std::reverse(addresses_.begin(), addresses_.end());
    try_next();
  };
  if (const auto digits = Endpoint::from_text(to.host, to.port)) {
    if (family == AF_UNSPEC || digits->family() == family) return take({{*digits}, {}});
    return end_later({nullptr, ResetReason::kUnknownName, kOtherFamily});
  }
  names_.start(to.host, to.port, family, alive_, take);
}

void Dialer::start(const ToUnix& to) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (to.path.size() >= sizeof address.sun_path) {
    at_once_ = true;
    return judge(ENOENT);
  }
  std::memcpy(address.sun_path, to.path.data(), to.path.size());
  connect(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

void Dialer::try_next() {
  if (addresses_.empty()) return end_later({nullptr, reason_of(error_), std::strerror(error_), at_once_});
  const Endpoint address = addresses_.back();
  addresses_.pop_back();
  connect(address.family(), address.data(), address.size());
}

void Dialer::connect(int family, const sockaddr* address, socklen_t size) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return judge(errno);
  if (family != AF_UNIX) set_forwarding_options(fd);
  try {
    socket_ = std::make_shared<Descriptor>(io_, fd);
  } catch (const std::runtime_error&) {
    return judge(EMFILE);
  }
  if (::connect(fd, address, size) == 0) return end_later({std::move(socket_), {}, {}});
  at_once_ = errno != EINPROGRESS;
  at_once_ ? judge(errno) : await();
}

void Dialer::await() {
  socket_->async_wait_writable([this](std::error_code failure) {
    if (failure) return;
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(socket_->fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return judge(error);
    end_later({std::move(socket_), {}, {}});
  });
}

void Dialer::judge(int error) {
  error_ = error;
  socket_.reset();
  try_next();
}

void Dialer::end_later(Outcome outcome) {
  asio::post(io_, [this, alive = std::weak_ptr(alive_), outcome = std::move(outcome)]() mutable {
    if (alive.expired()) return;
    const Handler handler = std::move(on_outcome_);
    handler(std::move(outcome));
  });
}

}  // namespace mcdtp
