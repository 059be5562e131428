#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "common/core/types.h"

namespace mcdtp {

// What a stream is opened to: the text of OPEN, see mcdtp-protocol(7).

// Connect to this port. `host`: a name or an address in digits, not empty.
struct ToTcp {
  std::string host;
  std::uint16_t port = 0;  // 1 to 65535
  bool operator==(const ToTcp&) const = default;
};

// Connect to this UNIX socket; the path is not empty.
struct ToUnix {
  std::string path;
  bool operator==(const ToUnix&) const = default;
};

// Listen, as long as the stream is open, and open a Forwarded stream for each connection. `address`: empty for all
// addresses, "localhost" for the loopback's; `port` 0: any that is free.
struct ListenTcp {
  std::string address;
  std::uint16_t port = 0;
  bool operator==(const ListenTcp&) const = default;
};
struct ListenUnix {
  std::string path;
  bool operator==(const ListenUnix&) const = default;
};

// A connection came in where the peer asked us, by the stream `listener`, to listen.
struct Forwarded {
  StreamId listener = 0;
  bool operator==(const Forwarded&) const = default;
};

using Target = std::variant<ToTcp, ToUnix, ListenTcp, ListenUnix, Forwarded>;

// REQUIRES: no field holds a NUL byte.
std::string format_target(const Target& target);
// Whether OPEN can carry it.
bool is_sayable(const Target& target);
// Takes exactly what format_target() gives, and nothing else.
[[nodiscard]] std::optional<Target> parse_target(std::string_view text);

// What stands on a stream that asked to listen, one line: the port bound (0 for a UNIX socket), or why it could not be.
struct ListenAnswer {
  static constexpr std::size_t kMaxSize = 512;  // bytes, the newline included

  std::optional<std::uint16_t> port;
  std::string error;  // where there is no port: one sentence, no newline
  bool operator==(const ListenAnswer&) const = default;
};
// With its newline. An error that is too long is cut.
std::string format_listen_answer(const ListenAnswer& answer);
// `line`: without its newline.
[[nodiscard]] std::optional<ListenAnswer> parse_listen_answer(std::string_view line);

}  // namespace mcdtp
