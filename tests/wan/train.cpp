#include "tests/wan/train.h"

#include <algorithm>
#include <cstring>

#include "tests/wan/ip.h"

namespace mcdtp::wan {
namespace {

constexpr std::size_t kTcpFlagsAt = 13;
constexpr std::uint8_t kFin = 1, kPsh = 8, kAck = 16, kCwr = 128;

std::uint32_t load32(const std::uint8_t* from) {
  return std::uint32_t{load16(from)} << 16 | load16(from + 2);
}

void store32(std::uint8_t* to, std::uint32_t value) {
  store16(to, value >> 16);
  store16(to + 2, value & 0xffff);
}

// RFC 1071's sum, not yet complemented.
std::uint64_t add_words(std::uint64_t sum, Bytes bytes) {
  std::size_t at = 0;
  for (; at + 1 < bytes.size(); at += 2) sum += load16(bytes.data() + at);
  if (at < bytes.size()) sum += std::uint64_t{bytes[at]} << 8;
  return sum;
}

std::uint16_t fold(std::uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

Protocol protocol_of(const OffloadHeader& offload, Bytes bytes) {
  std::size_t ip = ip_header_size(bytes);
  if ((offload.flags & OffloadHeader::kNeedsChecksum) == 0 || offload.csum_start != ip)
    return Protocol::kOther;
  std::size_t left = bytes.size() - ip;
  if (protocol_number(bytes) == kUdpNumber && offload.csum_offset == 6 && left >= kUdpHeaderSize)
    return Protocol::kUdp;
  constexpr std::size_t kTcpHeaderSize = 20;
  if (protocol_number(bytes) == kTcpNumber && offload.csum_offset == 16 && left >= kTcpHeaderSize)
    return Protocol::kTcp;
  return Protocol::kOther;
}

std::size_t headers_size(Protocol protocol, Bytes bytes) {
  std::size_t ip = ip_header_size(bytes);
  if (protocol == Protocol::kUdp) return ip + kUdpHeaderSize;
  return std::min(ip + std::size_t{4} * (bytes[ip + 12] >> 4), bytes.size());
}

std::size_t transport_at(const Train& train) { return ip_header_size(train.headers); }
const std::uint8_t* transport(const Train& train) { return train.headers.data() + transport_at(train); }

std::uint32_t tcp_number(const Train& train, std::size_t index) {
  return load32(transport(train) + 4) + static_cast<std::uint32_t>(index * train.segment_size);
}

// Of a train's flags, the first packet has CWR and the last FIN and PSH, as RFC 3168 and every card have it.
std::uint8_t tcp_flags(const Train& train, std::size_t index) {
  std::uint8_t flags = transport(train)[kTcpFlagsAt];
  if (index > 0) flags &= static_cast<std::uint8_t>(~kCwr);
  if (index + 1 < train.count) flags &= static_cast<std::uint8_t>(~(kFin | kPsh));
  return flags;
}

void set_ip_header(std::uint8_t* header, std::size_t header_size, std::size_t index, std::size_t size) {
  if (header[0] >> 4 == 6) {
    store16(header + 4, size - kIpv6HeaderSize);
    return;
  }
  store16(header + 2, size);
  store16(header + 4, load16(header + 4) + index);
  store16(header + 10, 0);
  store16(header + 10, static_cast<std::uint16_t>(~fold(add_words(0, {header, header_size}))));
}

std::uint64_t pseudo_header_sum(const std::uint8_t* header, std::uint8_t protocol, std::size_t size) {
  bool ipv6 = header[0] >> 4 == 6;
  Bytes addresses(header + (ipv6 ? 8 : 12), ipv6 ? 32 : 8);
  return add_words(std::uint64_t{protocol} + size, addresses);
}

bool equal(const std::uint8_t* a, const std::uint8_t* b, std::size_t from, std::size_t to) {
  return std::memcmp(a + from, b + from, to - from) == 0;
}

// All of the IP header but length, id and checksum.
bool same_ip(const Train& a, const Train& b) {
  std::size_t size = transport_at(a);
  if (size != transport_at(b)) return false;
  const std::uint8_t* x = a.headers.data();
  const std::uint8_t* y = b.headers.data();
  if (is_ipv6(a.headers)) return equal(x, y, 0, 4) && equal(x, y, 6, size);
  return equal(x, y, 0, 2) && equal(x, y, 6, 10) && equal(x, y, 12, size);
}

// All of the TCP header but number, FIN, PSH, CWR and checksum.
bool same_tcp(const Train& a, const Train& b) {
  const std::uint8_t* x = transport(a);
  const std::uint8_t* y = transport(b);
  constexpr std::uint8_t kDifferent = kFin | kPsh | kCwr;
  return a.headers.size() == b.headers.size() && equal(x, y, 8, kTcpFlagsAt) && equal(x, y, 14, 16) &&
         equal(x, y, 18, a.headers.size() - transport_at(a)) &&
         (x[kTcpFlagsAt] | kDifferent) == (y[kTcpFlagsAt] | kDifferent);
}

}  // namespace

std::uint8_t offload_type(const Train& train) {
  constexpr std::uint8_t kTcp4 = 1, kTcp6 = 4, kUdp = 5;  // VIRTIO_NET_HDR_GSO_TCPV4, _TCPV6, _UDP_L4
  if (train.protocol == Protocol::kUdp) return kUdp;
  return is_ipv6(train.headers) ? kTcp6 : kTcp4;
}

std::optional<Train> parse_train(const OffloadHeader& offload, Bytes bytes) {
  Train train;
  train.protocol = protocol_of(offload, bytes);
  train.offload = offload;
  bool cut = offload.gso_type != 0 && offload.gso_size > 0;
  if (train.protocol == Protocol::kOther && cut) return std::nullopt;
  std::size_t headers = train.protocol == Protocol::kOther ? 0 : headers_size(train.protocol, bytes);
  train.headers = bytes.first(headers);
  train.payload = bytes.subspan(headers);
  train.segment_size = std::max<std::size_t>(1, cut ? offload.gso_size : train.payload.size());
  train.count =
      std::max<std::size_t>(1, (train.payload.size() + train.segment_size - 1) / train.segment_size);
  return train;
}

Bytes payload_of(const Train& train, std::size_t index) {
  std::size_t from = index * train.segment_size;
  return train.payload.subspan(from, std::min(train.segment_size, train.payload.size() - from));
}

PacketShape shape_of(const Train& train, std::size_t index) {
  Bytes start = train.protocol == Protocol::kOther ? train.payload : train.headers;
  return {train.headers.size() + payload_of(train, index).size(), ip_header_size(start),
          protocol_number(start) == kUdpNumber};
}

Ports ports_of(const Train& train) {
  if (train.protocol == Protocol::kOther) return {};
  return {load16(transport(train)), load16(transport(train) + 2)};
}

bool has_push(const Train& train, std::size_t index) {
  return train.protocol == Protocol::kTcp && (tcp_flags(train, index) & kPsh) != 0;
}

Headers build_headers(const Train& train, std::size_t index, std::size_t payload_size, bool push) {
  Headers headers;
  headers.size = train.headers.size();
  if (headers.size == 0) return headers;
  std::copy(train.headers.begin(), train.headers.end(), headers.bytes.begin());
  std::size_t ip = transport_at(train), size = headers.size - ip + payload_size;
  std::uint8_t* at = headers.bytes.data() + ip;
  set_ip_header(headers.bytes.data(), ip, index, ip + size);
  bool tcp = train.protocol == Protocol::kTcp;
  if (tcp) {
    store32(at + 4, tcp_number(train, index));
    at[kTcpFlagsAt] = static_cast<std::uint8_t>(tcp_flags(train, index) | (push ? kPsh : 0));
  } else {
    store16(at + 4, size);
  }
  std::uint64_t sum = pseudo_header_sum(headers.bytes.data(), tcp ? kTcpNumber : kUdpNumber, size);
  store16(at + train.offload.csum_offset, fold(sum));
  return headers;
}

std::vector<std::uint8_t> build_packet(const Train& train, std::size_t index) {
  Bytes payload = payload_of(train, index);
  Headers headers = build_headers(train, index, payload.size(), false);
  std::vector<std::uint8_t> packet(headers.bytes.data(), headers.bytes.data() + headers.size);
  packet.insert(packet.end(), payload.begin(), payload.end());
  if ((train.offload.flags & OffloadHeader::kNeedsChecksum) == 0) return packet;
  std::size_t start = std::min<std::size_t>(train.offload.csum_start, packet.size());
  if (packet.size() - start < std::size_t{2} + train.offload.csum_offset) return packet;
  auto sum = static_cast<std::uint16_t>(~fold(add_words(0, Bytes(packet).subspan(start))));
  // UDP: zero would say that there is none.
  store16(packet.data() + start + train.offload.csum_offset, sum == 0 ? 0xffff : sum);
  return packet;
}

bool same_flow(const Train& a, const Train& b) {
  if (a.protocol != b.protocol || a.protocol == Protocol::kOther || ports_of(a) != ports_of(b)) return false;
  bool ipv6 = is_ipv6(a.headers);
  return ipv6 == is_ipv6(b.headers) &&
         equal(a.headers.data(), b.headers.data(), ipv6 ? 8 : 12, ipv6 ? 40 : 20);
}

bool may_follow(const Train& a, std::size_t a_index, const Train& b, std::size_t b_index) {
  if (!same_flow(a, b) || !same_ip(a, b)) return false;
  if (a.protocol == Protocol::kUdp) return true;
  std::uint32_t next = tcp_number(a, a_index) + static_cast<std::uint32_t>(payload_of(a, a_index).size());
  return same_tcp(a, b) && next == tcp_number(b, b_index) && (tcp_flags(b, b_index) & (kFin | kCwr)) == 0;
}

bool ends_train(const Train& train, std::size_t index) {
  if (train.protocol == Protocol::kOther || payload_of(train, index).empty()) return true;
  return train.protocol == Protocol::kTcp && tcp_flags(train, index) != kAck;
}

}  // namespace mcdtp::wan
