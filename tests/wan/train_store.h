#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/core/types.h"
#include "tests/wan/train.h"

namespace mcdtp::wan {

// Names a train in a TrainStore; used again for another when the train has gone.
using TrainId = std::uint32_t;

// Keeps trains and their bytes for as long as packets of them are on their way. The bytes lie one train behind the
// other in blocks of a megabyte, so that a small packet costs no more memory than its size.
class TrainStore {
 public:
  // Where the next train may be read to: 64 KiB and more. Valid until the next keep() or copy().
  MutableBytes room();
  // Keeps a train that was parsed in room(), for `uses` packets; `size` bytes of the room are then taken.
  // REQUIRES: uses > 0.
  TrainId keep(const Train& train, std::size_t size, std::size_t uses);
  // Keeps a packet as it is, for one use.
  TrainId keep_packet(Bytes packet);

  const Train& operator[](TrainId id) const { return entries_[id].train; }
  void use_again(TrainId id) { ++entries_[id].uses; }
  // The train goes with its last use.
  void release(TrainId id);

 private:
  static constexpr std::size_t kBlockSize = 1 << 20;
  static constexpr std::size_t kRoom = 1 << 17;
  struct Block {
    std::unique_ptr<std::uint8_t[]> bytes = std::make_unique_for_overwrite<std::uint8_t[]>(kBlockSize);
    std::size_t trains = 0;  // that still lie in it
  };
  struct Entry {
    Train train;
    std::size_t uses = 0;
    std::size_t block = 0;
  };

  void open_block();

  std::vector<Block> blocks_;
  std::vector<std::size_t> free_blocks_;
  std::size_t open_ = 0;  // the block that is being filled, where there is one
  std::size_t filled_ = kBlockSize;
  std::vector<Entry> entries_;
  std::vector<TrainId> free_entries_;
};

}  // namespace mcdtp::wan
