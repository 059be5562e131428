#include "common/core/packet_header.h"

#include "common/core/bytes.h"

namespace mcdtp {

void encode_header(const PacketHeader& header, MutableBytes packet) {
  Writer writer(packet);
  writer.u8(header.flags);
  writer.u16(header.channel);
  writer.u64(header.number);
}

std::optional<PacketHeader> decode_header(Bytes packet) {
  Reader reader(packet);
  PacketHeader header;
  header.flags = reader.u8();
  header.channel = reader.u16();
  header.number = reader.u64();
  if (reader.failed()) return std::nullopt;
  return header;
}

}  // namespace mcdtp
