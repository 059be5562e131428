#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/core/types.h"
#include "tests/wan/path.h"

namespace mcdtp::wan {

// What the kernel puts in front of each packet of a device with offloads: struct virtio_net_hdr, in the host's byte
// order. (Its header cannot be read by C++: a member is called `class`.)
struct OffloadHeader {
  static constexpr std::uint8_t kNeedsChecksum = 1;  // in `flags`: the transport's is open
  std::uint8_t flags = 0;
  std::uint8_t gso_type = 0;      // 0: one packet; see offload_type()
  std::uint16_t hdr_len = 0;      // bytes of headers; a hint
  std::uint16_t gso_size = 0;     // payload bytes of each packet of a train
  std::uint16_t csum_start = 0;   // from where on the open checksum is taken
  std::uint16_t csum_offset = 0;  // from there to where it stands
};
static_assert(sizeof(OffloadHeader) == 10);

// kOther: neither, or with a checksum that is complete already. Such a packet is never joined to another.
enum class Protocol : std::uint8_t { kUdp, kTcp, kOther };

// What came from the device in one read: a packet, or a train that the sender's kernel left for the network card to
// cut, on the wire `count` packets. Their headers stand there once, those of the first packet. A view: the bytes
// belong to another.
struct Train {
  Protocol protocol = Protocol::kOther;
  OffloadHeader offload{};
  Bytes headers;                 // IP's and the transport's; none for kOther
  Bytes payload;                 // of all packets, one behind the other; for kOther the whole packet
  std::size_t segment_size = 1;  // bytes of payload in each packet but the last, which may have fewer
  std::size_t count = 1;
};

// Which trains a device hands out and takes; without them it has packets one by one.
struct Offloads {
  bool tcp = false;
  bool udp = false;  // kernels from 6.2 on
};

// What a train of that protocol has in OffloadHeader::gso_type.
std::uint8_t offload_type(const Train& train);

// None for a train that this link cannot cut: its transport header is not right behind a plain IP header.
std::optional<Train> parse_train(const OffloadHeader& offload, Bytes bytes);

// REQUIRES of all below: index < train.count.
Bytes payload_of(const Train& train, std::size_t index);
PacketShape shape_of(const Train& train, std::size_t index);

// Source and destination port, 0 for kOther.
struct Ports {
  std::uint16_t source = 0;
  std::uint16_t destination = 0;
  bool operator==(const Ports&) const = default;
};
Ports ports_of(const Train& train);

struct Headers {
  std::array<std::uint8_t, 120> bytes{};  // the longest IPv4 and TCP headers
  std::size_t size = 0;
};

// The headers of the `index`th packet as on the wire, but with `payload_size` bytes behind it (more than its own
// where others are joined to it), with TCP's PSH also where `push`, and with the sum of the pseudo header in place of
// the transport's checksum, which is left to the offload. None for kOther.
Headers build_headers(const Train& train, std::size_t index, std::size_t payload_size, bool push);
bool has_push(const Train& train, std::size_t index);

// All of the `index`th packet as on the wire, its checksum complete.
std::vector<std::uint8_t> build_packet(const Train& train, std::size_t index);

bool same_flow(const Train& a, const Train& b);

// May that packet of `b` stand behind that of `a` in a train, sizes aside? As for GRO: one flow, headers equal but for
// lengths, ids, checksums and PSH, and in TCP each byte number follows on the last.
bool may_follow(const Train& a, std::size_t a_index, const Train& b, std::size_t b_index);

// Nothing may stand behind it: TCP's PSH, or what no train carries.
bool ends_train(const Train& train, std::size_t index);

}  // namespace mcdtp::wan
