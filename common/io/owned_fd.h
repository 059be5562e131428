#pragma once

#include <optional>
#include <utility>

namespace mcdtp {

// A descriptor that is closed with its owner.
class OwnedFd {
 public:
  OwnedFd() = default;
  // REQUIRES: `fd` is open.
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, std::nullopt)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd() { close(); }

  bool is_open() const { return fd_.has_value(); }
  // REQUIRES: is_open().
  int get() const;
  // The caller closes it from now on. REQUIRES: is_open().
  int release();
  // Does nothing where it is closed or released already.
  void close();

 private:
  std::optional<int> fd_;
};

}  // namespace mcdtp
