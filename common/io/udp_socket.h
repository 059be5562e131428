#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/core/types.h"
#include "common/io/arrival_clock.h"
#include "common/io/descriptor.h"
#include "common/io/endpoint.h"

namespace mcdtp {

// Datagrams to one address, one behind the other: each of `segment_size` bytes, the last may be shorter.
struct Train {
  Endpoint to;
  Bytes data;
  std::size_t segment_size = 0;
};

struct SendResult {
  enum class Status {
    kDone,        // all was accepted
    kWouldBlock,  // the socket's buffer is full: wait until it is writable
    kNoBuffers,   // the system is short of memory or its queue is full: no event tells when, so try in a
                  // millisecond
  };
  // Bytes from the front that the kernel took or that are lost for good: whole datagrams. The rest is to be
  // sent again as it is.
  std::size_t accepted = 0;
  Status status = Status::kDone;
  // The size of datagrams among these that are lost because the way out takes none so large; 0: there are none.
  std::size_t too_large = 0;
};

// All since the socket was opened.
struct UdpCounters {
  std::uint64_t datagrams_sent = 0;      // taken by the kernel
  std::uint64_t datagrams_received = 0;  // handed to a visitor
  std::uint64_t send_calls = 0;          // system calls
  std::uint64_t receive_calls = 0;       // system calls
  std::uint64_t truncated = 0;           // messages (with GRO up to 64 datagrams) dropped for not being whole
  std::uint64_t kernel_drops = 0;  // dropped by the kernel for want of receive buffer; a GRO message is one
  std::uint64_t datagrams_refused = 0;  // lost because a send failed for good: no route, too long, forbidden
  std::uint64_t receive_errors = 0;     // hints from ICMP that came by a receive
  bool gso = false;                     // in use: found, and never refused
  bool gro = false;                     // in use
};

// The system calls of a UdpSocket, each as the manual has it (a negative result, and errno). Tests put their
// own here for what a healthy kernel never does.
class UdpSyscalls {
 public:
  virtual ~UdpSyscalls() = default;
  virtual int set_option(int fd, int level, int name, int value);
  virtual ssize_t send(int fd, const msghdr& message);
  virtual int send_many(int fd, std::span<mmsghdr> messages);
  virtual int receive_many(int fd, std::span<mmsghdr> messages);
};

// Room for what one receive() brings: one for all the sockets of a thread, since its megabyte is in use only
// during the call. Big enough for the biggest message that GRO makes.
class ReceiveBatch {
 public:
  static constexpr std::size_t kMessages = 16;
  static constexpr std::size_t kMessageBytes = 65536;

  ReceiveBatch();
  ReceiveBatch(const ReceiveBatch&) = delete;
  ReceiveBatch& operator=(const ReceiveBatch&) = delete;

 private:
  friend class UdpSocket;
  static constexpr std::size_t kControlBytes = 128;
  struct Slot {
    sockaddr_storage from;
    alignas(cmsghdr) std::array<std::uint8_t, kControlBytes> control;
    iovec room;
  };
  std::span<mmsghdr> prepare();

  std::unique_ptr<std::uint8_t[]> buffers_;
  std::array<Slot, kMessages> slots_;
  std::array<mmsghdr, kMessages> messages_;
};

// One UDP socket, not connected, that never blocks and moves datagrams in batches: with GSO and GRO where the
// kernel has them, found out at run time, and by sendmmsg and recvmmsg where not. Errors that ICMP may have
// caused are counted and change nothing: anyone can forge them.
//
// Datagrams carry DF and are never fragmented. IP_PMTUDISC_PROBE, not _DO: with _DO the kernel believes every
// "too big" from ICMP and then refuses what fits, so a stranger could silence us.
class UdpSocket {
 public:
  struct Options {
    Endpoint local;              // its port is not looked at
    PortRange ports{0, 0};       // tried in turn, from a random one on; {0, 0}: any that the kernel likes
    int buffer_bytes = 4 << 20;  // asked for each way; the kernel grants what it likes
    UdpSyscalls* syscalls = nullptr;  // not owned; null: the real ones
  };

  // Throws a sentence where no port is free or the address is not ours. "::" takes IPv4 as well.
  UdpSocket(asio::io_context& io, const Options& options);

  const Endpoint& local() const { return local_; }
  const UdpCounters& counters() const { return counters_; }

  // As Descriptor has them.
  void async_wait_readable(WaitHandler handler) { descriptor_.async_wait_readable(std::move(handler)); }
  void async_wait_writable(WaitHandler handler) { descriptor_.async_wait_writable(std::move(handler)); }
  void cancel() { descriptor_.cancel(); }
  void close() { descriptor_.close(); }

  // REQUIRES: open, segment_size > 0. kDone is given only when all was accepted.
  [[nodiscard]] SendResult send(const Train& train);

  // Reads once, and calls visit(const Endpoint& from, MutableBytes datagram, Time arrived) for each datagram that came, in
  // order; the bytes are the visitor's to change until the call returns. `arrived`: when the kernel took it in, however much
  // later this was called; no later than now. Datagrams of no bytes are skipped.
  // True: there may be more. REQUIRES: open, and that the visitor does not close it or use the batch.
  template <class Visitor>
  [[nodiscard]] bool receive(ReceiveBatch& batch, Visitor&& visit) {
    const std::span<mmsghdr> messages = receive_messages(batch);
    for (const mmsghdr& message : messages) {
      const std::optional<Message> whole = open_message(message);
      if (!whole) continue;
      for (MutableBytes rest = whole->data; !rest.empty();) {
        const MutableBytes datagram = rest.first(std::min(rest.size(), whole->segment_size));
        rest = rest.subspan(datagram.size());
        ++counters_.datagrams_received;
        visit(whole->from, datagram, whole->arrived);
      }
    }
    return messages.size() == ReceiveBatch::kMessages;
  }

 private:
  // What recvmmsg gave in one slot: one datagram, or several of one size that GRO has joined.
  struct Message {
    Endpoint from;
    MutableBytes data;
    std::size_t segment_size;  // at least 1; of the last one at most
    Time arrived;
  };
  // What the kernel says of one.
  struct Control {
    std::size_t segment_size = 0;  // 0: GRO has joined nothing
    Time arrived{};
  };
  // An address as this socket's family wants it.
  struct Destination {
    sockaddr_in6 storage;
    socklen_t size;
  };

  void set_options(int buffer_bytes);
  void bind_to(const Endpoint& local, PortRange ports);
  bool try_bind(const Endpoint& at);

  Destination destination(const Endpoint& to) const;
  SendResult send_some(Destination& to, Bytes data, std::size_t segment_size);
  SendResult send_by_gso(Destination& to, Bytes piece, std::size_t segment_size);
  SendResult send_singly(Destination& to, Bytes data, std::size_t segment_size);
  SendResult refused(int error, std::size_t bytes, std::size_t datagrams);
  SendResult too_large(Bytes data, std::size_t segment_size);

  std::span<mmsghdr> receive_messages(ReceiveBatch& batch);
  std::optional<Message> open_message(const mmsghdr& message);
  void note_clocks();
  Control read_control(const msghdr& header);
  void note_kernel_drops(std::uint32_t total);

  UdpSyscalls& syscalls_;
  Descriptor descriptor_;
  Endpoint local_;
  bool is_v6_;
  ArrivalClock arrivals_;
  std::uint32_t last_drops_ = 0;  // the kernel's own count, which wraps
  UdpCounters counters_;
};

// One for each channel.
using UdpSockets = std::vector<std::unique_ptr<UdpSocket>>;

}  // namespace mcdtp
