#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/types.h"

namespace mcdtp {

// The largest value a variable-length integer holds (RFC 9000 section 16).
inline constexpr std::uint64_t kMaxVarint = (std::uint64_t{1} << 62) - 1;

// Bytes that `value` takes as a variable-length integer: 1, 2, 4 or 8.
// REQUIRES: value <= kMaxVarint.
std::size_t varint_size(std::uint64_t value);

// Reads from untrusted bytes. After the first read past the end every read returns zero or empty and
// failed() stays true, so a whole message is read first and judged once.
class Reader {
 public:
  explicit Reader(Bytes data) : data_(data) {}

  std::uint8_t u8();
  std::uint16_t u16();
  std::uint64_t u64();
  std::uint64_t varint();
  Bytes bytes(std::size_t size);
  // A varint length, then so many bytes; fails when the length is over `max_size`.
  Bytes block(std::size_t max_size);

  void fail() { failed_ = true; }
  bool failed() const { return failed_; }
  std::size_t remaining() const { return data_.size(); }

 private:
  Bytes data_;
  bool failed_ = false;
};

// Appends to a buffer of fixed size. REQUIRES: the caller asked remaining() first; an overflow is our bug.
class Writer {
 public:
  explicit Writer(MutableBytes buffer) : buffer_(buffer) {}

  void u8(std::uint8_t value);
  void u16(std::uint16_t value);
  void u64(std::uint64_t value);
  void varint(std::uint64_t value);
  void bytes(Bytes data);
  void block(Bytes data);
  // `size` bytes that the caller fills at once.
  MutableBytes reserve(std::size_t size);

  std::size_t size() const { return used_; }
  std::size_t remaining() const { return buffer_.size() - used_; }

 private:
  MutableBytes buffer_;
  std::size_t used_ = 0;
};

// Overwrites secrets in a way that the compiler keeps.
void wipe(MutableBytes secret);

// Lower case.
std::string to_hex(Bytes data);
// Unset for an odd number of digits and for anything but 0-9 and a-f.
std::optional<std::vector<std::uint8_t>> from_hex(std::string_view text);

inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace mcdtp
