#include "common/core/socks.h"

#include <algorithm>
#include <array>

#include "common/core/bytes.h"
#include "common/core/check.h"

namespace mcdtp {
namespace {

constexpr std::uint8_t kVersion4 = 4;
constexpr std::uint8_t kVersion5 = 5;
constexpr std::uint8_t kConnect = 1;
constexpr std::uint8_t kNoAuthentication = 0x00;
constexpr std::uint8_t kNoAcceptableMethod = 0xff;
constexpr std::uint8_t kIpv4 = 1;
constexpr std::uint8_t kName = 3;
constexpr std::uint8_t kIpv6 = 4;
constexpr std::uint8_t kGranted = 0x5a;
constexpr std::uint8_t kRejected = 0x5b;
constexpr std::size_t kSocks4Header = 8;
constexpr std::size_t kSocks5Header = 4;

std::string ipv4_text(Bytes address) {
  std::string text;
  for (const std::uint8_t byte : address) text.append(text.empty() ? "" : ".").append(std::to_string(byte));
  return text;
}

std::string hex(std::uint16_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 12; shift >= 0; shift -= 4) {
    const unsigned digit = (value >> shift) & 0xf;
    if (digit != 0 || !text.empty() || shift == 0) text += kDigits[digit];
  }
  return text;
}

// The first of the longest runs of two zero groups and more (RFC 5952 section 4.2): its begin and its size.
std::pair<std::size_t, std::size_t> longest_zeros(const std::array<std::uint16_t, 8>& groups) {
  std::size_t begin = 0, longest = 1;
  for (std::size_t i = 0, run = 0; i < groups.size(); ++i) {
    run = groups[i] == 0 ? run + 1 : 0;
    if (run <= longest) continue;
    longest = run;
    begin = i + 1 - run;
  }
  return {begin, longest < 2 ? 0 : longest};
}

std::string ipv6_text(Bytes address) {
  std::array<std::uint16_t, 8> groups{};
  Reader reader(address);
  for (std::uint16_t& group : groups) group = reader.u16();
  const auto [zeros, count] = longest_zeros(groups);
  std::string text;
  for (std::size_t i = 0; i < groups.size();) {
    if (count > 0 && i == zeros) {
      text += "::";
      i += count;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    text += hex(groups[i++]);
  }
  return text;
}

// Names go to the far host's resolver and into messages: nothing that would end or hide them there.
bool is_host_name(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

std::string host_text(std::uint8_t type, Bytes address) {
  if (type == kIpv4) return ipv4_text(address);
  if (type == kIpv6) return ipv6_text(address);
  return {address.begin(), address.end()};
}

}  // namespace

std::size_t SocksRequest::feed(Bytes data) {
  std::size_t used = 0;
  while (state_ == State::kMore && used < data.size()) {
    message_.push_back(data[used++]);
    CHECK(message_.size() <= kMaxRequest);
    judge();
  }
  return used;
}

void SocksRequest::judge() {
  switch (phase_) {
    case Phase::kVersion: return judge_version();
    case Phase::kSocks4: return judge_socks4();
    case Phase::kMethods: return judge_methods();
    case Phase::kSocks5: return judge_socks5();
  }
}

// What is no SOCKS gets no answer in it.
void SocksRequest::judge_version() {
  if (message_[0] == kVersion4)
    phase_ = Phase::kSocks4;
  else if (message_[0] == kVersion5)
    phase_ = Phase::kMethods;
  else
    state_ = State::kFailed;
}

// Version, command, port, address, user, NUL. An address 0.0.0.x stands for a name after that: SOCKS 4a.
void SocksRequest::judge_socks4() {
  if (message_.size() < kSocks4Header) return;
  Reader reader(message_);
  reader.u8();
  const std::uint8_t command = reader.u8();
  const std::uint16_t port = reader.u16();
  const Bytes address = reader.bytes(4);
  if (command != kConnect) return fail(SocksReply::kCommandNotSupported);
  const auto user = text_at(kSocks4Header);
  if (!user) return;
  const bool named = address[0] == 0 && address[1] == 0 && address[2] == 0 && address[3] != 0;
  if (!named) return set_target(ipv4_text(address), port);
  const auto name = text_at(kSocks4Header + user->size() + 1);
  if (name) set_target(*name, port);
}

std::optional<std::string> SocksRequest::text_at(std::size_t begin) {
  const auto first = message_.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto end = std::find(first, message_.end(), 0);
  if (end - first > static_cast<std::ptrdiff_t>(kMaxText)) {
    fail(SocksReply::kGeneralFailure);
    return std::nullopt;
  }
  if (end == message_.end()) return std::nullopt;
  return std::string(first, end);
}

// Version, count, methods.
void SocksRequest::judge_methods() {
  if (message_.size() < 2 || message_.size() < 2u + message_[1]) return;
  const bool free_for_all =
      std::find(message_.begin() + 2, message_.end(), kNoAuthentication) != message_.end();
  answer_ = {kVersion5, free_for_all ? kNoAuthentication : kNoAcceptableMethod};
  message_.clear();
  if (free_for_all)
    phase_ = Phase::kSocks5;
  else
    state_ = State::kFailed;
}

// Version, command, reserved, address type, address, port.
void SocksRequest::judge_socks5() {
  if (message_[0] != kVersion5) return fail(SocksReply::kGeneralFailure);
  if (message_.size() < kSocks5Header) return;
  const std::uint8_t type = message_[3];
  if (message_[1] != kConnect) return fail(SocksReply::kCommandNotSupported);
  if (type != kIpv4 && type != kName && type != kIpv6) return fail(SocksReply::kAddressTypeNotSupported);
  Reader reader(Bytes(message_).subspan(kSocks5Header));
  const Bytes address = reader.bytes(type == kName ? reader.u8() : type == kIpv4 ? 4 : 16);
  const std::uint16_t port = reader.u16();
  if (!reader.failed()) set_target(host_text(type, address), port);
}

void SocksRequest::set_target(std::string host, std::uint16_t port) {
  if (port == 0 || !is_host_name(host)) return fail(SocksReply::kGeneralFailure);
  host_ = std::move(host);
  port_ = port;
  state_ = State::kTarget;
}

void SocksRequest::fail(SocksReply why) {
  const std::vector<std::uint8_t> last = reply(why);
  answer_.insert(answer_.end(), last.begin(), last.end());
  state_ = State::kFailed;
}

// The address bound is not told: 0.0.0.0, port 0.
std::vector<std::uint8_t> SocksRequest::reply(SocksReply reply) const {
  if (phase_ == Phase::kSocks4)
    return {0, reply == SocksReply::kConnected ? kGranted : kRejected, 0, 0, 0, 0, 0, 0};
  return {kVersion5, static_cast<std::uint8_t>(reply), 0, kIpv4, 0, 0, 0, 0, 0, 0};
}

}  // namespace mcdtp
