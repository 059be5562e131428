#include "common/io/channel_io.h"

#include <algorithm>

#include "common/io/interface_mtu.h"
#include "common/io/system.h"

namespace mcdtp {
namespace {

// Where the interface does not tell: Ethernet's.
constexpr std::size_t kUnknownMtu = 1500;
// Loopback carries 65,507 bytes, but four of these fill a GSO buffer, and that is faster.
constexpr std::size_t kLoopbackPayload = 16'000;

}  // namespace

UdpChannel::UdpChannel(ChannelId id, std::unique_ptr<UdpSocket> socket, const SessionKeys& keys, Role role,
                       std::vector<Endpoint> paths, std::optional<LoginHost> login_host)
    : id_(id),
      socket_(std::move(socket)),
      sealer_(keys, outgoing(role), id),
      opener_(keys, incoming(role), id),
      candidates_(static_cast<PathId>(paths.size())),
      next_path_(candidates_),
      login_host_(login_host),
      train_(kTrainBytes) {
  for (PathId path = 0; path < candidates_; ++path) paths_.emplace(path, paths[path]);
}

std::optional<PathId> UdpChannel::find_path(const Endpoint& from) const {
  const auto known =
      std::find_if(paths_.begin(), paths_.end(), [&](const auto& path) { return path.second == from; });
  return known == paths_.end() ? std::nullopt : std::optional(known->first);
}

PathId UdpChannel::add_path(const Endpoint& from, const Session& session) {
  if (paths_.size() >= candidates_ + kMaxLearnt) forget_oldest_path(session);
  paths_.emplace(next_path_, from);
  return next_path_++;
}

// Of those that were learnt, one that nobody may name any more.
void UdpChannel::forget_oldest_path(const Session& session) {
  const auto is_free = [&](const auto& path) {
    const PathId id = path.first;
    const bool is_sent_to = id == to_ || (next_ && id == next_->path);
    return id >= candidates_ && !is_sent_to && !session.channel(id_)->paths.knows(id);
  };
  const auto oldest = std::find_if(paths_.begin(), paths_.end(), is_free);
  if (oldest != paths_.end()) paths_.erase(oldest);
}

bool UdpChannel::is_login_host(const Endpoint& from) const {
  return login_host_ && from.with_port(0) == login_host_->address;
}

bool UdpChannel::is_newest(const Session& session, PacketNumber number) const {
  const Channel* channel = session.channel(id_);
  return channel != nullptr && channel->receipts.would_be_highest(number);
}

bool UdpChannel::receive(ReceiveBatch& batch, Session& session) {
  std::optional<Time> read;  // when the first was
  const bool more = socket_->receive(batch, [&](const Endpoint& from, MutableBytes datagram, Time arrived) {
    const auto header = decode_header(datagram);
    const auto frames = header ? opener_.open(datagram) : std::nullopt;
    auto path = frames ? find_path(from) : std::nullopt;
    // An address is kept only for an authentic packet, and the newest: who has one of the peer's can send it again, from
    // anywhere.
    const bool is_new = frames && !path && (!login_host_ || !login_host_->alone || is_login_host(from)) &&
                        is_newest(session, header->number);
    if (is_new) path = add_path(from, session);
    if (!path) {
      ++unopened_;
      return;
    }
    if (!read) read = now();
    session.on_packet(*read, arrived, id_, *path, header->number, header->flags, *frames, datagram.size());
    if (is_new && is_login_host(from)) session.on_validated(id_, *path);
  });
  session.set_kernel_drops(id_, socket_->counters().kernel_drops);
  return more;
}

void UdpChannel::expect(Time now, Session& session, std::uint16_t port) {
  if (!login_host_) return;
  const Endpoint from = login_host_->address.with_port(port);
  if (!find_path(from)) session.on_expected(now, id_, add_path(from, session));
}

bool UdpChannel::append_packet(Time now, Session& session) {
  const std::size_t room = session.packet_room(id_);
  const MutableBytes space = MutableBytes(train_).subspan(end_, room + kSealOverhead);
  const auto packet = session.poll_packet(now, id_, space.subspan(kHeaderSize, room));
  if (!packet) return false;
  const std::size_t size = packet->size + kSealOverhead;
  encode_header({packet->flags, id_, packet->number}, space);
  sealer_.seal(space.first(size));
  const bool starts = end_ == begin_;
  if (starts) {
    segment_ = size;
    to_ = packet->path;
  }
  if (!starts && (size > segment_ || packet->path != to_)) {
    next_ = Next{size, packet->path};
    return false;
  }
  end_ += size;
  ++count_;
  // A shorter packet ends its train; a probe of the path MTU is one, so that nothing is lost with it.
  return size == segment_ && !packet->mtu_probe;
}

UdpChannel::Sent UdpChannel::send(Time now, Session& session) {
  begin_ = end_ = count_ = 0;
  do {
    if (!append_packet(now, session)) break;
  } while (count_ < kTrainPackets && end_ + session.packet_room(id_) + kSealOverhead <= kTrainBytes);
  return end_ == begin_ ? Sent::kNothing : flush();
}

UdpChannel::Sent UdpChannel::flush() {
  const Train train{paths_.at(to_), Bytes(train_).subspan(begin_, end_ - begin_), segment_};
  const SendResult result = socket_->send(train);
  begin_ += result.accepted;
  if (result.too_large > PathMtu::kBase) too_large_ = result.too_large;
  if (result.status == SendResult::Status::kWouldBlock) return Sent::kBlocked;
  if (result.status == SendResult::Status::kNoBuffers) return Sent::kNoBuffers;
  if (!next_) return Sent::kSome;
  begin_ = end_;
  segment_ = next_->size;
  to_ = next_->path;
  end_ += next_->size;
  next_.reset();
  return flush();
}

std::size_t UdpChannel::mtu_limit(PathId path) const {
  const Endpoint& to = paths_.at(path);
  const std::size_t most = udp_payload(interface_mtu(to).value_or(kUnknownMtu), to);
  return to.is_loopback() ? std::min(most, kLoopbackPayload) : most;
}

UdpChannel::Sent UdpChannel::resume() { return begin_ < end_ ? flush() : Sent::kNothing; }

PipeChannel::PipeChannel(ChannelId id, BytePipe pipe, const SessionKeys* keys, Role role)
    : id_(id), pipe_(std::move(pipe)) {
  if (keys == nullptr) return;
  sealer_.emplace(*keys, outgoing(role), id);
  opener_.emplace(*keys, incoming(role), id);
}

BytePipe::Status PipeChannel::receive(Session& session) {
  bool bad = false;
  // Of the time after the read: one from before it lies before the arrival of what came meanwhile, and on a busy machine
  // makes RTTs shorter than the path's.
  std::optional<Time> arrived;
  const BytePipe::Status status = pipe_.read([&](MutableBytes packet) {
    const auto header = decode_header(packet);
    if (bad || !header || header->channel != id_) {
      bad = true;
      return;
    }
    const auto frames = opener_ ? opener_->open(packet) : std::optional(packet.subspan(kHeaderSize));
    bad = !frames;
    if (bad) return;
    if (!arrived) arrived = now();
    session.on_packet(*arrived, *arrived, id_, 0, header->number, header->flags, *frames, packet.size());
  });
  return bad ? BytePipe::Status::kBroken : status;
}

bool PipeChannel::send(Time now, Session& session, BytePipe::Status& status) {
  status = pipe_.flush();
  if (pipe_.waiting() || status != BytePipe::Status::kOpen) return false;
  const MutableBytes space = pipe_.room();
  const std::size_t room = BytePipe::kMaxRecord - kSealOverhead;
  const auto packet = session.poll_packet(now, id_, space.subspan(kHeaderSize, room));
  if (!packet) return false;
  encode_header({packet->flags, id_, packet->number}, space);
  std::size_t size = packet->size + kHeaderSize;
  if (sealer_) sealer_->seal(space.first(size += kTagSize));
  pipe_.finish(size);
  status = pipe_.flush();
  return true;
}

}  // namespace mcdtp
