#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/core/types.h"
#include "tests/wan/train.h"
#include "tests/wan/train_store.h"

namespace mcdtp::wan {

// One packet on its way: the `index`th of a train.
struct InFlight {
  TrainId train = 0;
  std::uint32_t index = 0;
  Time due{};
  std::uint64_t order = 0;  // keeps those due at the same time as they came
};

// Packets that go to the far device as one.
struct Group {
  static constexpr std::size_t kMaxPackets = 64;  // as many as GRO joins
  std::vector<InFlight> packets;
  std::size_t payload_size = 0;  // of all
  bool open = true;              // more may join
};

// Joins packets that are due in one look of the link as GRO does behind a network card: those of one flow that follow
// on one another and are of one size, the last may be shorter. Flows keep their order, each within itself.
class Joiner {
 public:
  Joiner(const TrainStore& store, Offloads offloads) : store_(store), offloads_(offloads) {}

  void add(const InFlight& packet);

  // Calls visit(const Group&) for each, in the order of their first packets, and forgets them.
  template <class Visit>
  void take_all(Visit visit) {
    for (std::size_t i = 0; i < used_; ++i) visit(static_cast<const Group&>(groups_[i]));
    used_ = 0;
  }

 private:
  static constexpr std::size_t kMaxSize = 65'000;    // of payload: headers, too, have to fit into 65,535
  static constexpr std::size_t kFlowsLookedAt = 16;  // newest groups

  Group* find_group(const Train& train);
  bool fits(const Group& group, const InFlight& packet) const;
  bool joinable(const Train& train) const;
  void start(const InFlight& packet);
  void append(Group& group, const InFlight& packet);

  const TrainStore& store_;
  const Offloads offloads_;
  std::vector<Group> groups_;  // the first used_ are in use; the others keep their memory
  std::size_t used_ = 0;
};

// What the device is given for a group: offload header, headers, then the payloads where they lie.
class Message {
 public:
  Message(const TrainStore& store, const Group& group);
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  // The first part is the offload header.
  std::span<const iovec> parts() const { return {parts_.data(), count_}; }

 private:
  void add(Bytes bytes);

  OffloadHeader offload_{};
  Headers headers_;
  std::array<iovec, Group::kMaxPackets + 2> parts_;
  std::size_t count_ = 1;
};

}  // namespace mcdtp::wan
