#include "client/ssh_links.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "common/io/descriptor_limit.h"
#include "common/io/system.h"

namespace mcdtp {
namespace {

// For a log-in over several jump hosts.
constexpr Duration kProofPatience = seconds(60);
constexpr std::size_t kAtATime = 3;
constexpr int kMostFailures = 3;
constexpr Duration kFirstPause = seconds(1);
constexpr Duration kMaxPause = seconds(60);

}  // namespace

SshLinks::SshLinks(Driver& driver, std::vector<std::string> argv, ChildStderr stderr_kind, Tell tell)
    : driver_(driver),
      argv_(std::move(argv)),
      stderr_kind_(stderr_kind),
      tell_(std::move(tell)),
      pause_timer_(driver.io()),
      pause_(kFirstPause) {}

// All at once: each may take a while.
SshLinks::~SshLinks() {
  for (const auto& [id, connection] : connections_) connection.ssh->ask_to_end();
}

void SshLinks::want(std::size_t count) {
  wanted_ = count;
  go_on();
}

bool SshLinks::may_log_in() const {
  const std::size_t under_way = connections_.size() - proved_.size();
  return !stopped_ && !pausing_ && connections_.size() < wanted_ &&
         under_way < (proved_.empty() ? 1 : kAtATime);
}

void SshLinks::go_on() {
  while (may_log_in()) log_in();
}

void SshLinks::log_in() {
  if (next_id_ == std::numeric_limits<ChannelId>::max()) return stop();
  try {
    auto ssh = std::make_unique<SshProcess>(argv_, SshManner::kUnattended, stderr_kind_);
    if (!leaves_descriptors(ssh->stdout_fd())) return pause();
    const auto own = [this](int fd) { return std::make_shared<Descriptor>(driver_.io(), fd); };
    BytePipe pipe(own(ssh->take_stdout()), own(ssh->take_stdin()));
    const ChannelId id = next_id_++;
    connections_[id] = {
        std::move(ssh), std::make_unique<asio::steady_timer>(driver_.io(), kProofPatience), {}};
    driver_.add_link(id, std::move(pipe));
    await_proof(id);
  } catch (const std::runtime_error& error) {
    give_up(error.what());
  }
}

void SshLinks::await_proof(ChannelId id) {
  connections_.at(id).patience->async_wait([this, id](std::error_code error) {
    if (error || !connections_.contains(id) || proved_.contains(id)) return;
    driver_.remove_link(id);
    on_link_end(id);
  });
}

void SshLinks::on_proved(ChannelId id) {
  if (!connections_.contains(id)) return;
  proved_.insert(id);
  connections_.at(id).patience->cancel();
  connections_.at(id).proved_at = now();
  failures_left_ = kMostFailures;
  go_on();
}

void SshLinks::on_link_end(ChannelId id) {
  const auto ended = connections_.extract(id);
  if (ended.empty()) return;
  const bool was_proved = proved_.erase(id) > 0;
  if (stopped_) return;
  // Those that fail together fail once.
  if (!was_proved && !pausing_ && --failures_left_ <= 0)
    return give_up("the log-in failed, or the far side forwards nothing to its own ports");
  if (was_proved && now() - ended.mapped().proved_at >= kMaxPause) pause_ = kFirstPause;
  pause();
}

void SshLinks::pause() {
  if (std::exchange(pausing_, true)) return;
  pause_timer_.expires_after(pause_);
  pause_ = std::min(2 * pause_, kMaxPause);
  pause_timer_.async_wait([this](std::error_code error) {
    if (!error) pausing_ = false;
  });
}

// But not after a log-in that failed.
void SshLinks::hurry() {
  if (failures_left_ < kMostFailures || !std::exchange(pausing_, false)) return;
  pause_timer_.cancel();
  go_on();
}

void SshLinks::give_up(const std::string& why) {
  tell_("no further SSH connection: " + why);
  stop();
}

void SshLinks::stop() {
  stopped_ = true;
  pause_timer_.cancel();
}

}  // namespace mcdtp
