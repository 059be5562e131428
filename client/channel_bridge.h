#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/core/types.h"

namespace mcdtp {

// One channel of an SSH connection, never blocking. Each call throws where the connection is lost.
class SshChannel {
 public:
  virtual ~SshChannel() = default;

  // How many bytes of `data` it took. Nothing: offer the very same bytes again once the socket was readable.
  virtual std::optional<std::size_t> write(std::string_view data) = 0;
  // Whether the end of our bytes is said; if not, again once the socket was readable.
  virtual bool send_eof() = 0;
  // How many bytes came, of the command's stderr or stdout; nothing: none now, or none any more.
  virtual std::optional<std::size_t> read(bool from_stderr, std::span<char> buffer) = 0;
  // How many bytes have been taken from the socket and not been read. Reading one stream may bring bytes of the other.
  virtual std::size_t unread() const = 0;
  // Has the far side said that no more bytes come, and have all been read?
  virtual bool at_eof() = 0;
  // Has the far side closed the channel? REQUIRES: at_eof().
  virtual bool is_closed() = 0;

  // Sealed bytes wait for the socket in a queue; write() may be called while has_room().
  virtual bool has_room() const = 0;
  virtual bool has_unsent() const = 0;
  // Whether any went out.
  virtual bool flush() = 0;
  virtual int socket_fd() const = 0;
};

// Carries our 0 to the channel, the channel to our 1 and 2, as a running ssh does: half-closed either way
// where an end comes, and at most 32 kB held of each stream. It sleeps in poll() where nothing can
// move. What nobody reads any more is dropped; who still writes kLastWords after our reader has gone is left alone, for
// libssh2 cannot tell it as ssh does. Descriptors 0 and 1 become non-blocking; 2 stays as it is.
class ChannelBridge {
 public:
  static constexpr Duration kLastWords = seconds(2);

  explicit ChannelBridge(SshChannel& channel);
  // Returns when the channel is closed and all that came is written, or it is left. Throws where the connection is lost.
  void run();

 private:
  bool step();
  bool read_stdin();
  bool write_channel();
  bool say_eof();
  bool read_channel();
  bool fill(std::string& buffer, bool from_stderr);
  bool write_stdout();
  void drop_stdout();
  bool write_stderr();
  bool note_end();
  bool wants_input() const;
  void wait() const;

  SshChannel& channel_;
  std::string in_;            // read from 0, not yet taken by the channel; unchanged until it is
  std::string out_, err_;     // not yet written to 1 and 2
  std::size_t unread_ = 0;    // in the channel, when there was last nothing to be read; 0 once something was
  bool in_ended_ = false;     // 0 is at its end
  bool eof_said_ = false;     // and the far side knows
  bool must_repeat_ = false;  // write() or send_eof() waits for the socket to be readable
  bool out_is_open_ = true;   // 1
  std::optional<Time> reader_gone_at_;
  bool is_closed_ = false;  // or left
};

}  // namespace mcdtp
