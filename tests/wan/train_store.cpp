#include "tests/wan/train_store.h"

#include <algorithm>

namespace mcdtp::wan {

MutableBytes TrainStore::room() {
  if (kBlockSize - filled_ < kRoom) open_block();
  return {blocks_[open_].bytes.get() + filled_, kRoom};
}

void TrainStore::open_block() {
  // What was open is freed by its last release; an empty one that was open goes on as it is.
  bool reusable = !blocks_.empty() && blocks_[open_].trains == 0;
  if (!reusable) {
    if (free_blocks_.empty()) {
      blocks_.emplace_back();
      free_blocks_.push_back(blocks_.size() - 1);
    }
    open_ = free_blocks_.back();
    free_blocks_.pop_back();
  }
  filled_ = 0;
}

TrainId TrainStore::keep(const Train& train, std::size_t size, std::size_t uses) {
  if (free_entries_.empty()) {
    entries_.emplace_back();
    free_entries_.push_back(static_cast<TrainId>(entries_.size() - 1));
  }
  TrainId id = free_entries_.back();
  free_entries_.pop_back();
  entries_[id] = {train, uses, open_};
  ++blocks_[open_].trains;
  filled_ += size;
  return id;
}

TrainId TrainStore::keep_packet(Bytes packet) {
  MutableBytes to = room();
  std::copy(packet.begin(), packet.end(), to.begin());
  Train train;
  train.payload = to.first(packet.size());
  train.segment_size = std::max<std::size_t>(1, packet.size());
  return keep(train, packet.size(), 1);
}

void TrainStore::release(TrainId id) {
  Entry& entry = entries_[id];
  if (--entry.uses > 0) return;
  free_entries_.push_back(id);
  Block& block = blocks_[entry.block];
  if (--block.trains == 0 && entry.block != open_) free_blocks_.push_back(entry.block);
}

}  // namespace mcdtp::wan
