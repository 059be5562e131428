#include "tests/wan/joiner.h"

namespace mcdtp::wan {

void Joiner::add(const InFlight& packet) {
  const Train& train = store_[packet.train];
  Group* group = joinable(train) ? find_group(train) : nullptr;
  if (group != nullptr && fits(*group, packet)) {
    append(*group, packet);
    return;
  }
  // What comes later of this flow must not overtake this packet.
  if (group != nullptr) group->open = false;
  start(packet);
}

bool Joiner::joinable(const Train& train) const {
  if (train.protocol == Protocol::kTcp) return offloads_.tcp;
  return train.protocol == Protocol::kUdp && offloads_.udp;
}

// The newest of that flow.
Group* Joiner::find_group(const Train& train) {
  for (std::size_t i = used_; i > 0 && used_ - i < kFlowsLookedAt; --i) {
    Group& group = groups_[i - 1];
    if (same_flow(store_[group.packets.back().train], train)) return &group;
  }
  return nullptr;
}

bool Joiner::fits(const Group& group, const InFlight& packet) const {
  const Train& train = store_[packet.train];
  const InFlight& first = group.packets.front();
  const InFlight& last = group.packets.back();
  std::size_t size = payload_of(train, packet.index).size();
  return group.open && size > 0 && size <= payload_of(store_[first.train], first.index).size() &&
         group.packets.size() < Group::kMaxPackets && group.payload_size + size <= kMaxSize &&
         may_follow(store_[last.train], last.index, train, packet.index);
}

void Joiner::start(const InFlight& packet) {
  if (used_ == groups_.size()) groups_.emplace_back();
  Group& group = groups_[used_++];
  group.packets.clear();
  group.payload_size = 0;
  group.open = true;
  append(group, packet);
}

void Joiner::append(Group& group, const InFlight& packet) {
  const Train& train = store_[packet.train];
  std::size_t size = payload_of(train, packet.index).size();
  group.packets.push_back(packet);
  group.payload_size += size;
  const InFlight& first = group.packets.front();
  bool short_one = size < payload_of(store_[first.train], first.index).size();
  group.open = !short_one && !ends_train(train, packet.index);
}

Message::Message(const TrainStore& store, const Group& group) {
  const InFlight& first = group.packets.front();
  const InFlight& last = group.packets.back();
  const Train& train = store[first.train];
  bool push = has_push(store[last.train], last.index);
  headers_ = build_headers(train, first.index, group.payload_size, push);
  offload_ = train.offload;
  offload_.gso_type = 0;
  offload_.gso_size = 0;
  if (group.packets.size() > 1) {
    offload_.gso_type = offload_type(train);
    offload_.gso_size = static_cast<std::uint16_t>(payload_of(train, first.index).size());
  }
  if (headers_.size > 0) offload_.hdr_len = static_cast<std::uint16_t>(headers_.size);
  parts_[0] = {&offload_, sizeof offload_};
  add({headers_.bytes.data(), headers_.size});
  for (const InFlight& packet : group.packets) add(payload_of(store[packet.train], packet.index));
}

// Neighbours in memory become one part.
void Message::add(Bytes bytes) {
  if (bytes.empty()) return;
  iovec& last = parts_[count_ - 1];
  if (static_cast<std::uint8_t*>(last.iov_base) + last.iov_len == bytes.data()) {
    last.iov_len += bytes.size();
  } else {
    parts_[count_++] = {const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  }
}

}  // namespace mcdtp::wan
