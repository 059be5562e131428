#include "tests/wan/forwarder.h"

#include <poll.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace mcdtp::wan {
namespace {

// Between two looks at what is due; 64 packets take well under a millisecond.
constexpr int kReadsInARow = 64;
constexpr int kLastRounds = 256;

timespec until(Time due, Time now) {
  Duration left = std::max(due - now, Duration::zero());
  auto whole = std::chrono::duration_cast<seconds>(left);
  return {static_cast<time_t>(whole.count()), static_cast<long>((left - whole).count())};
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
}

Statistics Forwarder::statistics() const {
  Statistics result = statistics_;
  result.overruns = from_.overruns();
  return result;
}

bool Forwarder::deliver_due() {
  bool any = false;
  while (!in_flight_.empty() && !orders_.stop) {
    InFlight packet = in_flight_.top();
    Time now = clock_now();
    if (packet.due > now) break;
    any = true;
    in_flight_.pop();
    statistics_.lateness.add(now - packet.due);
    if (to_.write({buffers_[packet.buffer].get(), packet.size})) {
      ++statistics_.delivered_packets;
      statistics_.delivered_bytes += packet.size;
    } else {
      ++statistics_.refused;
    }
    free_.push_back(packet.buffer);
  }
  return any;
}

bool Forwarder::take_waiting() {
  for (int taken = 0; taken < kReadsInARow; ++taken) {
    std::size_t buffer = free_buffer();
    auto size = from_.read({buffers_[buffer].get(), kMaxPacket});
    if (!size) {
      free_.push_back(buffer);
      return taken > 0;
    }
    take(clock_now(), buffer, *size);
  }
  more_waits_ = true;
  return true;
}

void Forwarder::take(Time now, std::size_t buffer, std::size_t size) {
  Fate fate = path_.admit(now, {buffers_[buffer].get(), size}, orders_.cut, orders_.block_udp);
  ++statistics_.in_packets;
  statistics_.in_bytes += size;
  ++statistics_.packets[static_cast<std::size_t>(fate.cause)];
  if (fate.cause == Cause::kPassed) {
    send_on(fate, buffer, size);
  } else {
    free_.push_back(buffer);
  }
}

void Forwarder::send_on(const Fate& fate, std::size_t buffer, std::size_t size) {
  std::uint8_t* packet = buffers_[buffer].get();
  if (fate.flipped_bit) {
    std::size_t at = ip_header_size({packet, size}) + *fate.flipped_bit / 8;
    packet[at] ^= static_cast<std::uint8_t>(1u << *fate.flipped_bit % 8);
    ++statistics_.corrupted;
  }
  in_flight_.push({fate.due, next_order_++, buffer, size});
  statistics_.reordered += fate.reordered;
  if (!fate.duplicated) return;
  ++statistics_.duplicated;
  std::size_t copy = free_buffer();
  std::memcpy(buffers_[copy].get(), buffers_[buffer].get(), size);
  in_flight_.push({fate.due, next_order_++, copy, size});
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

std::size_t Forwarder::free_buffer() {
  if (free_.empty()) {
    buffers_.push_back(std::make_unique_for_overwrite<std::uint8_t[]>(kMaxPacket));
    free_.push_back(buffers_.size() - 1);
  }
  std::size_t buffer = free_.back();
  free_.pop_back();
  return buffer;
}

}  // namespace mcdtp::wan
