#pragma once

#include <stdexcept>
#include <string>

namespace mcdtp {

// What there is no address of. what(): "looking up HOST: reason".
class Unresolved : public std::runtime_error {
 public:
  // kTemporary: no name server could be asked, or none has answered.
  enum class Kind { kUnknown, kTemporary };

  Unresolved(const std::string& host, const std::string& reason, Kind kind = Kind::kUnknown)
      : std::runtime_error("looking up " + host + ": " + reason), reason_(reason), kind_(kind) {}

  const std::string& reason() const { return reason_; }
  bool is_temporary() const { return kind_ == Kind::kTemporary; }

 private:
  std::string reason_;
  Kind kind_;
};

}  // namespace mcdtp
