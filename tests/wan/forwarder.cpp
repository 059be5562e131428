#include "tests/wan/forwarder.h"

#include <poll.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <vector>

namespace mcdtp::wan {
namespace {

// Between two looks at what is due: this takes well under a millisecond.
constexpr std::size_t kPacketsInARow = 256;
constexpr int kLastRounds = 256;

timespec until(Time due, Time now) {
  Duration left = std::max(due - now, Duration::zero());
  auto whole = std::chrono::duration_cast<seconds>(left);
  return {static_cast<time_t>(whole.count()), static_cast<long>((left - whole).count())};
}

Duration thread_cpu_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return seconds(used.tv_sec) + Duration(used.tv_nsec);
}

}  // namespace

Time clock_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Time(seconds(now.tv_sec) + Duration(now.tv_nsec));
}

void Forwarder::run() {
  // The default slack of 50 us would add to every packet's delay.
  ::prctl(PR_SET_TIMERSLACK, 1);
  while (!orders_.stop) {
    bool delivered = deliver_due();
    bool taken = take_waiting();
    rest(delivered || taken);
  }
  // What was sent before the end is counted, so that a caller knows what to expect.
  for (int rounds = 0; rounds < kLastRounds && take_waiting(); ++rounds) continue;
  statistics_.cpu_time = thread_cpu_time();
}

Statistics Forwarder::statistics() const {
  Statistics result = statistics_;
  result.overruns = from_.overruns();
  return result;
}

bool Forwarder::deliver_due() {
  // What falls due meanwhile is for the next look: going after it would mean packets one by one.
  Time now = clock_now();
  auto is_due = [&] { return !in_flight_.empty() && in_flight_.top().due <= now; };
  bool any = is_due();
  while (is_due() && !orders_.stop) {
    for (std::size_t taken = 0; taken < kPacketsInARow && is_due(); ++taken) {
      joiner_.add(in_flight_.top());
      in_flight_.pop();
    }
    joiner_.take_all([this](const Group& group) { write(group); });
  }
  return any;
}

void Forwarder::write(const Group& group) {
  Time now = clock_now();
  ++statistics_.writes;
  bool written = to_.write(Message(store_, group).parts());
  for (const InFlight& packet : group.packets) {
    const Train& train = store_[packet.train];
    std::size_t size = shape_of(train, packet.index).size;
    statistics_.lateness.add(now - packet.due);
    statistics_.refused += !written;
    statistics_.delivered_packets += written;
    statistics_.delivered_bytes += written ? size : 0;
    if (flows_ && written) flows_->add(now, train.protocol, ports_of(train), size);
    store_.release(packet.train);
  }
}

bool Forwarder::take_waiting() {
  std::size_t taken = 0;
  while (taken < kPacketsInARow) {
    OffloadHeader offload{};
    MutableBytes room = store_.room();
    auto size = from_.read(offload, room);
    if (!size) return taken > 0;
    ++statistics_.reads;
    taken += take(offload, room.first(*size));
  }
  more_waits_ = true;
  return true;
}

// How many packets it was.
std::size_t Forwarder::take(const OffloadHeader& offload, MutableBytes bytes) {
  Time now = clock_now();
  bool unmapped = translation_ && !translation_(now, offload, bytes);
  auto train = parse_train(offload, bytes);
  if (!train) {
    ++statistics_.uncut;
    return 1;
  }
  TrainId id = store_.keep(*train, bytes.size(), train->count);
  for (std::uint32_t index = 0; index < train->count; ++index) take_packet(now, {id, index, {}, 0}, unmapped);
  return train->count;
}

void Forwarder::take_packet(Time now, InFlight packet, bool unmapped) {
  PacketShape shape = shape_of(store_[packet.train], packet.index);
  shape.unmapped = unmapped;
  Fate fate = path_.admit(now, shape, orders_.cut, orders_.block_udp);
  ++statistics_.in_packets;
  statistics_.in_bytes += shape.size;
  ++statistics_.packets[static_cast<std::size_t>(fate.cause)];
  if (fate.cause != Cause::kPassed) {
    store_.release(packet.train);
    return;
  }
  packet.due = fate.due;
  if (fate.flipped_bit) corrupt(packet, 8 * shape.ip_header_size + *fate.flipped_bit);
  send_on(packet);
  statistics_.reordered += fate.reordered;
  if (!fate.duplicated) return;
  store_.use_again(packet.train);
  send_on(packet);
  ++statistics_.duplicated;
}

// The packet as a card would have sent it, with one bit wrong: no longer a part of its train, nor of any other.
void Forwarder::corrupt(InFlight& packet, std::size_t bit) {
  std::vector<std::uint8_t> bytes = build_packet(store_[packet.train], packet.index);
  bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
  store_.release(packet.train);
  packet.train = store_.keep_packet(bytes);
  packet.index = 0;
  ++statistics_.corrupted;
}

void Forwarder::send_on(InFlight packet) {
  packet.order = next_order_++;
  in_flight_.push(packet);
}

// While there is work the link looks once a tick for what has come and what is due; waking for each packet
// would cost several times the work itself. Otherwise it sleeps until either happens.
void Forwarder::rest(bool worked) {
  if (more_waits_) {
    more_waits_ = false;
    return;
  }
  std::array<pollfd, 2> fds{{{orders_.stop_fd, POLLIN, 0}, {from_.fd(), POLLIN, 0}}};
  Time now = clock_now();
  timespec timeout{};
  if (worked) {
    next_look_ = std::max(next_look_ + tick_, now);
    timeout = until(next_look_, now);
    ::ppoll(fds.data(), 1, &timeout, nullptr);
  } else {
    if (!in_flight_.empty()) timeout = until(in_flight_.top().due, now);
    ::ppoll(fds.data(), 2, in_flight_.empty() ? nullptr : &timeout, nullptr);
    next_look_ = clock_now();
  }
}

}  // namespace mcdtp::wan
