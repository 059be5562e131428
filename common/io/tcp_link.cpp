#include "common/io/tcp_link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "common/io/descriptor_limit.h"
#include "common/io/system.h"

namespace mcdtp {
namespace {

// Unsent bytes above which the kernel calls the socket full: reports that wait there are old.
constexpr int kNotSentLowWater = 16 * 1024;
// A link whose far end has gone is given up after this long, ms; idle ones ask after 15 s whether it has.
constexpr int kSilenceMilliseconds = 20'000;
constexpr int kIdleSeconds = 15;
constexpr int kAskAgainSeconds = 5;
constexpr Duration kProofPatience = seconds(20);
// An address from which nothing comes has had three SYNs by then; the kernel would ask for two minutes.
constexpr Duration kConnectPatience = seconds(5);
constexpr Duration kFirstPause = seconds(1);
constexpr Duration kMaxPause = seconds(60);
// Where one has stood: the network may be away for a while.
constexpr Duration kMaxPauseOfProved = seconds(10);

asio::ip::tcp::endpoint to_asio(const Endpoint& endpoint) {
  asio::ip::tcp::endpoint result;
  result.resize(endpoint.size());
  std::copy_n(reinterpret_cast<const std::uint8_t*>(endpoint.data()), endpoint.size(),
              reinterpret_cast<std::uint8_t*>(result.data()));
  return result;
}

// An established connection as a pipe of records.
BytePipe make_pipe(std::shared_ptr<Descriptor> both) {
  const int on = 1;
  const int fd = both->fd();
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kNotSentLowWater, sizeof kNotSentLowWater);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleSeconds, sizeof kIdleSeconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kAskAgainSeconds, sizeof kAskAgainSeconds);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kSilenceMilliseconds, sizeof kSilenceMilliseconds);
  return BytePipe(both, both);
}

}  // namespace

// ---- client ----

TcpConnector::TcpConnector(Driver& driver, const std::vector<Endpoint>& candidates, NextId next_id,
                           bool is_first)
    : driver_(driver),
      candidates_(candidates),
      next_id_(std::move(next_id)),
      is_first_(is_first),
      socket_(driver.io()),
      timer_(driver.io()),
      pause_(kFirstPause) {}

void TcpConnector::start(std::size_t candidate) {
  stopped_ = false;
  candidate_ = candidate;
  pause_ = kFirstPause;
  connect();
}

void TcpConnector::stop() {
  stopped_ = true;
  ++attempts_;
  std::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
}

void TcpConnector::end() {
  stop();
  if (link_) driver_.remove_link(*std::exchange(link_, std::nullopt));
}

void TcpConnector::connect() {
  std::error_code ignored;
  socket_.close(ignored);
  const std::uint64_t attempt = ++attempts_;
  timer_.expires_after(kConnectPatience);
  timer_.async_wait([this, attempt](std::error_code error) {
    if (!error && attempt == attempts_) give_up_connecting();
  });
  socket_.async_connect(to_asio(candidates_[candidate_]), [this, attempt](std::error_code error) {
    if (attempt == attempts_) error ? try_next() : connected();
  });
}

// The handler of connecting goes on from there.
void TcpConnector::give_up_connecting() {
  std::error_code ignored;
  socket_.close(ignored);
}

void TcpConnector::try_next() {
  candidate_ = (candidate_ + 1) % candidates_.size();
  candidate_ == 0 ? retry() : connect();
}

void TcpConnector::connected() {
  timer_.cancel();
  if (!is_first_ && !leaves_descriptors(socket_.native_handle())) return retry();
  std::error_code error;
  const auto id = next_id_();
  if (!id) return stop();
  const int fd = socket_.release(error);
  if (error) return retry();
  try {
    driver_.add_link(*id, make_pipe(std::make_shared<Descriptor>(driver_.io(), fd)));
    link_ = id;
    await_proof();
  } catch (const std::runtime_error&) {
    // Out of descriptors.
    retry();
  }
}

void TcpConnector::retry() {
  std::error_code ignored;
  socket_.close(ignored);
  timer_.expires_after(pause_);
  pause_ = std::min(2 * pause_, proved_ ? kMaxPauseOfProved : kMaxPause);
  timer_.async_wait([this, attempt = attempts_](std::error_code error) {
    if (!error && attempt == attempts_) connect();
  });
}

// Something between the hosts may take connections that it does not pass on, and keep them.
void TcpConnector::await_proof() {
  timer_.expires_after(kProofPatience);
  timer_.async_wait([this, attempt = attempts_](std::error_code error) {
    if (error || attempt != attempts_ || !link_) return;
    // It may have ended, or been proved, in this very moment.
    const Channel* channel = driver_.session().channel(*link_);
    if (channel == nullptr || channel->proved()) return;
    driver_.remove_link(*std::exchange(link_, std::nullopt));
    candidate_ = (candidate_ + 1) % candidates_.size();
    retry();
  });
}

void TcpConnector::on_proved() {
  proved_ = candidate_;
  timer_.cancel();
  pause_ = kFirstPause;
}

void TcpConnector::on_end() {
  link_.reset();
  if (!stopped_) retry();
}

bool TcpConnector::hurry() {
  if (!proved_ || stopped_ || link_) return false;
  if (is_trying()) return true;
  candidate_ = *proved_;
  connect();
  return true;
}

TcpLinks::TcpLinks(Driver& driver, std::vector<Endpoint> candidates)
    : driver_(driver), candidates_(std::move(candidates)) {}

// Ids are used once; when none is left, the SSH channel goes on alone.
void TcpLinks::want(std::size_t count) {
  if (candidates_.empty()) return;
  const auto next_id = [this]() -> std::optional<ChannelId> {
    if (next_id_ == std::numeric_limits<ChannelId>::max()) return std::nullopt;
    return next_id_++;
  };
  while (connectors_.size() < count)
    connectors_.push_back(std::make_unique<TcpConnector>(driver_, candidates_, next_id, connectors_.empty()));
  for (std::size_t i = 0; i < connectors_.size(); ++i) {
    TcpConnector& connector = *connectors_[i];
    if (i < count && connector.is_stopped()) connector.start(connectors_.front()->candidate());
    if (i < count || connector.is_stopped()) continue;
    if (connector.link()) proved_.erase(*connector.link());
    connector.end();
  }
}

TcpConnector* TcpLinks::find(ChannelId id) {
  const auto found = std::find_if(connectors_.begin(), connectors_.end(),
                                  [id](const auto& connector) { return connector->link() == id; });
  return found == connectors_.end() ? nullptr : found->get();
}

void TcpLinks::on_proved(ChannelId id) {
  TcpConnector* connector = find(id);
  if (connector == nullptr) return;
  connector->on_proved();
  proved_.insert(id);
  for (const auto& other : connectors_) other->hurry();
}

void TcpLinks::on_link_end(ChannelId id) {
  proved_.erase(id);
  if (TcpConnector* connector = find(id)) connector->on_end();
}

void TcpLinks::hurry() {
  for (const auto& connector : connectors_) {
    if (connector->hurry()) return;
  }
}

void TcpLinks::stop() {
  for (const auto& connector : connectors_) connector->stop();
}

// ---- server ----

struct TcpAcceptor::Pending {
  Pending(asio::io_context& io, int fd) : descriptor(std::make_shared<Descriptor>(io, fd)), timer(io) {}

  std::shared_ptr<Descriptor> descriptor;
  asio::steady_timer timer;
  std::array<std::uint8_t, kMaxHello> bytes{};
  std::size_t size = 0;
};

TcpAcceptor::TcpAcceptor(Driver& driver, const Endpoint& local)
    : driver_(driver), local_(local), acceptor_(driver.io()), pause_(driver.io()) {}

bool TcpAcceptor::start() {
  const auto at = to_asio(local_);
  std::error_code error;
  acceptor_.open(at.protocol(), error);
  if (error) return false;
  acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  acceptor_.bind(at, error);
  if (!error) acceptor_.listen(kMaxDatagramChannels, error);
  if (!error) local_ = local_.with_port(acceptor_.local_endpoint(error).port());
  if (error) {
    acceptor_.close(error);
    return false;
  }
  accept();
  return true;
}

void TcpAcceptor::stop() {
  stopped_ = true;
  stop_listening();
}

void TcpAcceptor::accept() {
  acceptor_.async_accept([this](std::error_code error, asio::ip::tcp::socket socket) {
    if (stopped_ || has_all() || error == asio::error::operation_aborted) return;
    if (error) return accept_later();
    const int fd = socket.release(error);
    if (error || !admit(fd)) return accept_later();
    accept();
  });
}

bool TcpAcceptor::admit(int fd) {
  try {
    const auto pending = std::make_shared<Pending>(driver_.io(), fd);
    // The newest evicts the oldest: strangers cannot keep the client out by holding connections open.
    if (pending_.size() >= std::max(kMaxPending, wanted_)) drop(pending_.front());
    pending_.push_back(pending);
    await_hello(pending);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

// Out of descriptors: what waits to be accepted would wake us again and again.
void TcpAcceptor::accept_later() {
  pause_.expires_after(kFirstPause);
  pause_.async_wait([this](std::error_code error) {
    if (!error && !stopped_ && !has_all()) accept();
  });
}

void TcpAcceptor::await_hello(const std::shared_ptr<Pending>& pending) {
  pending->timer.expires_after(kHelloPatience);
  pending->timer.async_wait([this, weak = std::weak_ptr(pending)](std::error_code error) {
    const auto late = weak.lock();
    if (!error && late && !stopped_) drop(late);
  });
  read_hello(pending);
}

void TcpAcceptor::read_hello(const std::shared_ptr<Pending>& pending) {
  pending->descriptor->async_wait_readable([this, weak = std::weak_ptr(pending)](std::error_code error) {
    const auto waiting = weak.lock();
    if (error || !waiting || stopped_) return;
    const IoResult result = waiting->descriptor->read(MutableBytes(waiting->bytes).subspan(waiting->size));
    if (result.status == IoResult::Status::kWouldBlock) return read_hello(waiting);
    if (result.status != IoResult::Status::kBytes) return drop(waiting);
    waiting->size += result.bytes;
    judge_hello(waiting);
  });
}

void TcpAcceptor::judge_hello(const std::shared_ptr<Pending>& pending) {
  const MutableBytes bytes = MutableBytes(pending->bytes).first(pending->size);
  const std::size_t prefix = BytePipe::kPrefix;
  const std::size_t size = bytes.size() < prefix ? 0 : static_cast<std::size_t>(bytes[0] << 8 | bytes[1]);
  if (bytes.size() >= prefix && size + prefix > kMaxHello) return drop(pending);
  if (bytes.size() < prefix || bytes.size() < size + prefix) return read_hello(pending);
  std::array<std::uint8_t, kMaxHello> copy = pending->bytes;
  const MutableBytes packet = MutableBytes(copy).subspan(prefix, size);
  const auto header = decode_header(packet);
  if (!header || header->channel < kFirstTcpChannel || used_.contains(header->channel)) return drop(pending);
  Opener opener(driver_.keys(), incoming(driver_.role()), header->channel);
  if (!opener.open(packet) || !has_room_for(*pending->descriptor)) return drop(pending);
  adopt(header->channel, bytes, pending->descriptor);
  drop(pending);
}

// The first is worth the last descriptor, others are not.
bool TcpAcceptor::has_room_for(const Descriptor& link) const {
  return links_.empty() || leaves_descriptors(link.fd());
}

// The client has come. When all is there no one else is listened to.
void TcpAcceptor::adopt(ChannelId id, Bytes early, std::shared_ptr<Descriptor> descriptor) {
  used_.insert(id);
  links_.insert(id);
  BytePipe pipe = make_pipe(std::move(descriptor));
  pipe.feed(early);
  if (has_all()) stop_listening();
  driver_.add_link(id, std::move(pipe));
}

void TcpAcceptor::stop_listening() {
  std::error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  pending_.clear();
}

void TcpAcceptor::drop(const std::shared_ptr<Pending>& pending) { pending_.remove(pending); }

void TcpAcceptor::on_link_end(ChannelId id) {
  if (links_.erase(id) > 0) listen_if_wanted();
}

void TcpAcceptor::want(std::size_t count) {
  wanted_ = count;
  has_all() ? stop_listening() : listen_if_wanted();
}

// Somebody may have the port, or there are too many files open, for now.
void TcpAcceptor::listen_if_wanted() {
  if (stopped_ || has_all() || acceptor_.is_open() || start()) return;
  pause_.expires_after(kFirstPause);
  pause_.async_wait([this](std::error_code error) {
    if (!error) listen_if_wanted();
  });
}

}  // namespace mcdtp
