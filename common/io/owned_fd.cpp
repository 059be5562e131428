#include "common/io/owned_fd.h"

#include <unistd.h>

#include "common/core/check.h"

namespace mcdtp {

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, std::nullopt);
  return *this;
}

int OwnedFd::get() const {
  CHECK(fd_.has_value());
  return *fd_;
}

int OwnedFd::release() {
  const int fd = get();
  fd_.reset();
  return fd;
}

void OwnedFd::close() {
  if (fd_) ::close(*std::exchange(fd_, std::nullopt));
}

}  // namespace mcdtp
