#include "common/core/bytes.h"

#include <bit>
#include <cstring>

#include "common/core/check.h"

namespace mcdtp {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::size_t varint_size(std::uint64_t value) {
  CHECK(value <= kMaxVarint);
  if (value < 64) return 1;
  if (value < 16384) return 2;
  return value < (1u << 30) ? 4 : 8;
}

std::uint8_t Reader::u8() {
  const Bytes b = bytes(1);
  return b.empty() ? 0 : b[0];
}

std::uint16_t Reader::u16() {
  const Bytes b = bytes(2);
  return b.empty() ? 0 : static_cast<std::uint16_t>(b[0] << 8 | b[1]);
}

std::uint64_t Reader::u64() {
  std::uint64_t value = 0;
  for (const std::uint8_t b : bytes(8)) value = value << 8 | b;
  return value;
}

std::uint64_t Reader::varint() {
  const std::uint8_t first = u8();
  std::uint64_t value = first & 0x3f;
  for (const std::uint8_t b : bytes((std::size_t{1} << (first >> 6)) - 1)) value = value << 8 | b;
  return failed_ ? 0 : value;
}

Bytes Reader::bytes(std::size_t size) {
  if (failed_ || size > data_.size()) {
    failed_ = true;
    return {};
  }
  const Bytes result = data_.first(size);
  data_ = data_.subspan(size);
  return result;
}

Bytes Reader::block(std::size_t max_size) {
  const std::uint64_t size = varint();
  if (size > max_size) fail();
  return bytes(static_cast<std::size_t>(size));
}

void Writer::u8(std::uint8_t value) { reserve(1)[0] = value; }

void Writer::u16(std::uint16_t value) {
  const MutableBytes out = reserve(2);
  out[0] = static_cast<std::uint8_t>(value >> 8);
  out[1] = static_cast<std::uint8_t>(value);
}

void Writer::u64(std::uint64_t value) {
  const MutableBytes out = reserve(8);
  for (int i = 7; i >= 0; --i, value >>= 8)
    out[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(value);
}

void Writer::varint(std::uint64_t value) {
  const std::size_t size = varint_size(value);
  const MutableBytes out = reserve(size);
  for (std::size_t i = size; i-- > 0; value >>= 8) out[i] = static_cast<std::uint8_t>(value);
  out[0] |= static_cast<std::uint8_t>(std::countr_zero(size) << 6);
}

void Writer::bytes(Bytes data) {
  if (!data.empty()) std::memcpy(reserve(data.size()).data(), data.data(), data.size());
}

void Writer::block(Bytes data) {
  varint(data.size());
  bytes(data);
}

MutableBytes Writer::reserve(std::size_t size) {
  CHECK(size <= remaining());
  const MutableBytes out = buffer_.subspan(used_, size);
  used_ += size;
  return out;
}

void wipe(MutableBytes secret) {
  if (!secret.empty()) explicit_bzero(secret.data(), secret.size());
}

std::string to_hex(Bytes data) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(data.size() * 2);
  for (const std::uint8_t b : data) {
    text += kDigits[b >> 4];
    text += kDigits[b & 15];
  }
  return text;
}

std::optional<std::vector<std::uint8_t>> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::uint8_t> data;
  data.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    data.push_back(static_cast<std::uint8_t>(high << 4 | low));
  }
  return data;
}

}  // namespace mcdtp
