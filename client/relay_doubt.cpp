#include "client/relay_doubt.h"

#include <utility>

#include "common/io/system.h"

namespace mcdtp {
namespace {

// SSH's far side speaks at once, as a rule.
constexpr auto kPatience = seconds(2);

}  // namespace

void RelayDoubt::when_settled(std::function<void()> start_stdin) {
  start_stdin_ = std::move(start_stdin);
  if (!is_relay() || memory_->is_confirmed(seconds_since_1970())) return this->start_stdin();
  timer_.expires_after(kPatience);
  timer_.async_wait([this](std::error_code error) {
    if (!error) this->start_stdin();
  });
}

void RelayDoubt::start_stdin() {
  timer_.cancel();
  if (const auto start = std::exchange(start_stdin_, nullptr)) start();
}

void RelayDoubt::on_works() {
  if (!is_relay() || std::exchange(is_noted_, true)) return;
  memory_->confirm(seconds_since_1970());
  start_stdin();
}

void RelayDoubt::on_prohibited() {
  memory_->prohibit(seconds_since_1970());
  gives_back_ = start_stdin_ != nullptr;
}

}  // namespace mcdtp
