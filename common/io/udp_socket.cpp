#include "common/io/udp_socket.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

#include "common/core/check.h"
#include "common/io/descriptor_limit.h"
#include "common/io/system.h"

namespace mcdtp {
namespace {

// Limits of UDP_SEGMENT: older kernels take 64 segments; all of it is one IPv4 datagram until it is cut.
constexpr std::size_t kMaxSegments = 64;
constexpr std::size_t kMaxGsoBytes = 65507;
// How often in a row receive() steps over an error that is a hint.
constexpr int kHintsPerReceive = 8;

std::runtime_error failure(const std::string& attempt, int error) {
  return std::runtime_error(attempt + ": " + std::generic_category().message(error));
}

int open_socket(int family) {
  const int fd = ::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) throw failure("opening a UDP socket", errno);
  if (!leaves_descriptors(fd)) {
    ::close(fd);
    throw failure("opening a UDP socket", EMFILE);
  }
  return fd;
}

UdpSyscalls& real_syscalls() {
  static UdpSyscalls instance;
  return instance;
}

std::size_t datagrams_in(std::size_t bytes, std::size_t segment_size) {
  return (bytes + segment_size - 1) / segment_size;
}

// As much of the front as one call may carry.
Bytes gso_piece(Bytes data, std::size_t segment_size) {
  const std::size_t segments = std::min(kMaxSegments, kMaxGsoBytes / segment_size);
  return data.first(std::min(data.size(), segments * segment_size));
}

// A timespec, or what is laid out as one of 64 bits.
bool is_stamp(const cmsghdr& entry) {
  return entry.cmsg_level == SOL_SOCKET && entry.cmsg_type == SO_TIMESTAMPNS &&
         entry.cmsg_len >= CMSG_LEN(sizeof(timespec));
}

timespec stamp_of(const cmsghdr& entry) {
  timespec stamp;
  std::memcpy(&stamp, CMSG_DATA(&entry), sizeof stamp);
  return stamp;
}

iovec iovec_of(Bytes bytes) { return {const_cast<std::uint8_t*>(bytes.data()), bytes.size()}; }

template <class Call>
auto uninterrupted(Call call) {
  auto n = call();
  while (n < 0 && errno == EINTR) n = call();
  return n;
}

}  // namespace

int UdpSyscalls::set_option(int fd, int level, int name, int value) {
  return ::setsockopt(fd, level, name, &value, sizeof value);
}

ssize_t UdpSyscalls::send(int fd, const msghdr& message) { return ::sendmsg(fd, &message, 0); }

int UdpSyscalls::send_many(int fd, std::span<mmsghdr> messages) {
  return ::sendmmsg(fd, messages.data(), static_cast<unsigned>(messages.size()), 0);
}

int UdpSyscalls::receive_many(int fd, std::span<mmsghdr> messages) {
  return ::recvmmsg(fd, messages.data(), static_cast<unsigned>(messages.size()), 0, nullptr);
}

// Not zeroed: pages that no datagram reaches stay without memory.
ReceiveBatch::ReceiveBatch()
    : buffers_(std::make_unique_for_overwrite<std::uint8_t[]>(kMessages * kMessageBytes)),
      slots_{},
      messages_{} {
  for (std::size_t i = 0; i < kMessages; ++i) {
    slots_[i].room = {buffers_.get() + i * kMessageBytes, kMessageBytes};
    messages_[i].msg_hdr.msg_name = &slots_[i].from;
    messages_[i].msg_hdr.msg_iov = &slots_[i].room;
    messages_[i].msg_hdr.msg_iovlen = 1;
    messages_[i].msg_hdr.msg_control = slots_[i].control.data();
  }
}

// The kernel has written its own lengths over these.
std::span<mmsghdr> ReceiveBatch::prepare() {
  for (mmsghdr& message : messages_) {
    message.msg_hdr.msg_namelen = sizeof(sockaddr_storage);
    message.msg_hdr.msg_controllen = kControlBytes;
    message.msg_hdr.msg_flags = 0;
    message.msg_len = 0;
  }
  return messages_;
}

UdpSocket::UdpSocket(asio::io_context& io, const Options& options)
    : syscalls_(options.syscalls != nullptr ? *options.syscalls : real_syscalls()),
      descriptor_(io, open_socket(options.local.family())),
      is_v6_(!options.local.is_v4()) {
  set_options(options.buffer_bytes);
  note_clocks();
  bind_to(options.local, options.ports);
}

// All but the address family is help that an old kernel may lack: what fails is gone without.
void UdpSocket::set_options(int buffer_bytes) {
  const int fd = descriptor_.fd();
  const auto set = [&](int level, int name, int value) {
    return syscalls_.set_option(fd, level, name, value) == 0;
  };
  if (is_v6_) {
    set(IPPROTO_IPV6, IPV6_V6ONLY, 0);
    set(IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
  }
  set(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  set(SOL_SOCKET, SO_RCVBUF, buffer_bytes);
  set(SOL_SOCKET, SO_SNDBUF, buffer_bytes);
  set(SOL_SOCKET, SO_RXQ_OVFL, 1);
  set(SOL_SOCKET, SO_TIMESTAMPNS, 1);
  counters_.gro = set(IPPROTO_UDP, UDP_GRO, 1);
  // Sets nothing, but asks: a kernel that does not know UDP_SEGMENT ignores it on a message, and sends one
  // huge datagram.
  counters_.gso = set(IPPROTO_UDP, UDP_SEGMENT, 0);
}

void UdpSocket::bind_to(const Endpoint& local, PortRange ports) {
  CHECK(ports.low <= ports.high);
  const std::uint32_t count = std::uint32_t{ports.high} - ports.low + 1;
  std::uint32_t start = 0;
  random_bytes({reinterpret_cast<std::uint8_t*>(&start), sizeof start});
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t port = ports.low + (start % count + i) % count;
    if (try_bind(local.with_port(static_cast<std::uint16_t>(port)))) return;
  }
  throw std::runtime_error("binding a UDP socket to " + local.address_text() + ": no port is free from " +
                           std::to_string(ports.low) + " to " + std::to_string(ports.high));
}

// False: this port is not to be had, another may be.
bool UdpSocket::try_bind(const Endpoint& at) {
  if (::bind(descriptor_.fd(), at.data(), at.size()) < 0) {
    if (errno == EADDRINUSE || errno == EACCES) return false;
    throw failure("binding a UDP socket to " + at.to_string(), errno);
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(descriptor_.fd(), reinterpret_cast<sockaddr*>(&bound), &size) < 0) {
    throw failure("asking for the address of a UDP socket", errno);
  }
  local_ = Endpoint::from_sockaddr(reinterpret_cast<sockaddr*>(&bound), size).value_or(at);
  return true;
}

UdpSocket::Destination UdpSocket::destination(const Endpoint& to) const {
  Destination out{};
  if (is_v6_) {
    out = {to.as_v6(), sizeof(sockaddr_in6)};
  } else {
    out.size = to.size();
    std::memcpy(&out.storage, to.data(), out.size);
  }
  return out;
}

SendResult UdpSocket::send(const Train& train) {
  CHECK(train.segment_size > 0);
  Destination to = destination(train.to);
  SendResult total;
  while (total.accepted < train.data.size() && total.status == SendResult::Status::kDone) {
    const SendResult step = send_some(to, train.data.subspan(total.accepted), train.segment_size);
    total.accepted += step.accepted;
    total.status = step.status;
    total.too_large = std::max(total.too_large, step.too_large);
  }
  return total;
}

// One system call's worth (two where GSO fails). kDone here says: go on.
SendResult UdpSocket::send_some(Destination& to, Bytes data, std::size_t segment_size) {
  const Bytes piece = gso_piece(data, segment_size);
  if (counters_.gso && piece.size() > segment_size) return send_by_gso(to, piece, segment_size);
  return send_singly(to, data, segment_size);
}

SendResult UdpSocket::send_by_gso(Destination& to, Bytes piece, std::size_t segment_size) {
  alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(sizeof(std::uint16_t))> control{};
  iovec bytes = iovec_of(piece);
  msghdr message{&to.storage, to.size, &bytes, 1, control.data(), control.size(), 0};
  cmsghdr* const option = CMSG_FIRSTHDR(&message);
  option->cmsg_level = IPPROTO_UDP;
  option->cmsg_type = UDP_SEGMENT;
  option->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const auto size = static_cast<std::uint16_t>(segment_size);
  std::memcpy(CMSG_DATA(option), &size, sizeof size);

  ++counters_.send_calls;
  if (uninterrupted([&] { return syscalls_.send(descriptor_.fd(), message); }) >= 0) {
    counters_.datagrams_sent += datagrams_in(piece.size(), segment_size);
    return {piece.size(), SendResult::Status::kDone, 0};
  }
  const int error = errno;
  if (error != EIO && error != EINVAL && error != EMSGSIZE) {
    return refused(error, piece.size(), datagrams_in(piece.size(), segment_size));
  }
  // EIO is GSO's own (no checksum offload on the way out); the others may be the datagrams' fault. What goes
  // through without GSO was GSO's fault.
  const std::uint64_t sent_before = counters_.datagrams_sent;
  const SendResult result = send_singly(to, piece, segment_size);
  if (error == EIO || counters_.datagrams_sent > sent_before) counters_.gso = false;
  return result;
}

SendResult UdpSocket::send_singly(Destination& to, Bytes data, std::size_t segment_size) {
  std::array<iovec, kMaxSegments> parts;
  std::array<mmsghdr, kMaxSegments> messages;
  std::size_t count = 0;
  for (Bytes rest = data; count < kMaxSegments && !rest.empty(); ++count) {
    const Bytes one = rest.first(std::min(rest.size(), segment_size));
    rest = rest.subspan(one.size());
    parts[count] = iovec_of(one);
    messages[count] = {{&to.storage, to.size, &parts[count], 1, nullptr, 0, 0}, 0};
  }
  ++counters_.send_calls;
  const int sent = uninterrupted([&] {
    return syscalls_.send_many(descriptor_.fd(), {messages.data(), count});
  });
  // A call that failed half way tells how far it came; the next one, beginning there, tells why.
  if (sent < 0)
    return errno == EMSGSIZE ? too_large(data, segment_size) : refused(errno, parts[0].iov_len, 1);
  const auto datagrams = static_cast<std::size_t>(sent);
  counters_.datagrams_sent += datagrams;
  return {std::min(data.size(), datagrams * segment_size), SendResult::Status::kDone, 0};
}

// `bytes` at the front were not sent. Either they wait, or they are lost as on a bad link, and the loss is
// found as there.
SendResult UdpSocket::refused(int error, std::size_t bytes, std::size_t datagrams) {
  CHECK(error != EBADF && error != ENOTSOCK && error != EFAULT);
  if (error == EAGAIN || error == EWOULDBLOCK) return {0, SendResult::Status::kWouldBlock, 0};
  if (error == ENOBUFS || error == ENOMEM) return {0, SendResult::Status::kNoBuffers, 0};
  counters_.datagrams_refused += datagrams;
  return {bytes, SendResult::Status::kDone, 0};
}

// What is true of the first datagram is true of all of its size.
SendResult UdpSocket::too_large(Bytes data, std::size_t segment_size) {
  const std::size_t size = std::min(data.size(), segment_size);
  const std::size_t count = data.size() / size;
  counters_.datagrams_refused += count;
  return {count * size, SendResult::Status::kDone, size};
}

std::span<mmsghdr> UdpSocket::receive_messages(ReceiveBatch& batch) {
  for (int hints = 0; hints < kHintsPerReceive; ++hints) {
    ++counters_.receive_calls;
    const std::span<mmsghdr> messages = batch.prepare();
    const int n = uninterrupted([&] { return syscalls_.receive_many(descriptor_.fd(), messages); });
    if (n >= 0) {
      note_clocks();
      return messages.first(static_cast<std::size_t>(n));
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    CHECK(errno != EBADF && errno != ENOTSOCK && errno != EFAULT);
    ++counters_.receive_errors;
  }
  return {};
}

// The wall's first: what lies between makes arrivals later, never earlier.
void UdpSocket::note_clocks() {
  const timespec wall = time_of_day();
  arrivals_.on_read(now(), wall);
}

// Nothing where it is not whole: without its end, or without the control message that says how to cut it.
std::optional<UdpSocket::Message> UdpSocket::open_message(const mmsghdr& message) {
  const msghdr& header = message.msg_hdr;
  const Control control = read_control(header);
  const auto from =
      Endpoint::from_sockaddr(static_cast<const sockaddr*>(header.msg_name), header.msg_namelen);
  if (!from || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
      message.msg_len > header.msg_iov->iov_len) {
    ++counters_.truncated;
    return std::nullopt;
  }
  const MutableBytes data(static_cast<std::uint8_t*>(header.msg_iov->iov_base), message.msg_len);
  const std::size_t whole = std::max<std::size_t>(data.size(), 1);
  return Message{*from, data, control.segment_size != 0 ? control.segment_size : whole, control.arrived};
}

UdpSocket::Control UdpSocket::read_control(const msghdr& header) {
  Control control{0, arrivals_.arrived()};
  auto* const writable = const_cast<msghdr*>(&header);  // CMSG_NXTHDR asks for it and changes nothing
  for (cmsghdr* entry = CMSG_FIRSTHDR(writable); entry != nullptr; entry = CMSG_NXTHDR(writable, entry)) {
    if (is_stamp(*entry)) control.arrived = arrivals_.arrived(stamp_of(*entry));
    std::uint32_t value = 0;
    if (entry->cmsg_len < CMSG_LEN(sizeof value)) continue;
    std::memcpy(&value, CMSG_DATA(entry), sizeof value);
    if (entry->cmsg_level == IPPROTO_UDP && entry->cmsg_type == UDP_GRO) control.segment_size = value;
    if (entry->cmsg_level == SOL_SOCKET && entry->cmsg_type == SO_RXQ_OVFL) note_kernel_drops(value);
  }
  return control;
}

// Processors that queue at once may tell their counts out of order; an older one says nothing new.
void UdpSocket::note_kernel_drops(std::uint32_t total) {
  const auto news = static_cast<std::int32_t>(total - last_drops_);
  if (news <= 0) return;
  counters_.kernel_drops += static_cast<std::uint32_t>(news);
  last_drops_ = total;
}

}  // namespace mcdtp
