#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/core/types.h"

namespace mcdtp {

// How a request ended, as the two protocols tell it. SOCKS 4 knows only granted and rejected.
enum class SocksReply : std::uint8_t {
  kConnected = 0x00,
  kGeneralFailure = 0x01,
  kNotAllowed = 0x02,
  kNetworkUnreachable = 0x03,
  kHostUnreachable = 0x04,
  kRefused = 0x05,
  kCommandNotSupported = 0x07,
  kAddressTypeNotSupported = 0x08,
};

// The server's side of SOCKS 4, 4a and 5 (RFC 1928) until the target is known: CONNECT alone, without
// authentication.
// Invariants: how the bytes fed were split never matters; at most kMaxRequest of them are kept.
class SocksRequest {
 public:
  enum class State {
    kMore,    // not whole yet
    kTarget,  // host() and port() are set: connect, then send reply()
    kFailed,  // send what take_answer() still has, and close
  };
  // A name takes at most 255 bytes in SOCKS 5; so it is for SOCKS 4's user and name.
  static constexpr std::size_t kMaxText = 255;
  static constexpr std::size_t kMaxRequest = 8 + 2 * (kMaxText + 1);

  // Takes bytes up to the end of the request and returns how many: what follows belongs to the connection.
  std::size_t feed(Bytes data);

  State state() const { return state_; }
  // A name or a numeric address, and a port from 1 on. REQUIRES: state() is kTarget.
  const std::string& host() const { return host_; }
  std::uint16_t port() const { return port_; }

  // What is to be sent to the client by now and was not asked for before. Ask after each feed().
  std::vector<std::uint8_t> take_answer() { return std::exchange(answer_, {}); }
  // The last thing sent before the connection's own bytes, or before closing. REQUIRES: state() is kTarget.
  std::vector<std::uint8_t> reply(SocksReply reply) const;

 private:
  enum class Phase { kVersion, kSocks4, kMethods, kSocks5 };

  void judge();
  void judge_version();
  void judge_socks4();
  void judge_methods();
  void judge_socks5();
  // The text that begins at `begin` and ends before a NUL; unset while that is not in. Too long: failed.
  std::optional<std::string> text_at(std::size_t begin);
  void set_target(std::string host, std::uint16_t port);
  void fail(SocksReply reply);

  State state_ = State::kMore;
  Phase phase_ = Phase::kVersion;
  // The message of this phase as far as it is in.
  std::vector<std::uint8_t> message_;
  std::vector<std::uint8_t> answer_;
  std::string host_;
  std::uint16_t port_ = 0;
};

}  // namespace mcdtp
