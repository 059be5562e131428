#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>

#include "client/relay_memory.h"

namespace mcdtp {

// Whether the server of a jump host forwards for the relay that we are, see jump_relay.h. Where no run before has shown
// it, nothing is read of stdin until something has come: as long as not a byte was taken, ssh can do it all instead.
class RelayDoubt {
 public:
  // `memory`, which outlives this object: null where we are no relay, and there is no doubt.
  RelayDoubt(asio::io_context& io, const RelayMemory* memory) : memory_(memory), timer_(io) {}

  // Calls `start_stdin` when that may be read, once: at once where there is no doubt, else when something has come, or as it
  // seems that the far side waits to be spoken to.
  void when_settled(std::function<void()> start_stdin);
  // Something has come from there.
  void on_works();
  // The server forwards nothing.
  void on_prohibited();
  // It does not, and not a byte was taken.
  bool gives_back() const { return gives_back_; }
  bool is_relay() const { return memory_ != nullptr; }

 private:
  void start_stdin();

  const RelayMemory* memory_;
  asio::steady_timer timer_;
  std::function<void()> start_stdin_;  // empty: it was called
  bool is_noted_ = false;
  bool gives_back_ = false;
};

}  // namespace mcdtp
