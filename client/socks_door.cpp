#include "client/socks_door.h"

#include <array>
#include <utility>

namespace mcdtp {

SocksReply socks_failure(ResetReason reason) {
  switch (reason) {
    case ResetReason::kProhibited: return SocksReply::kNotAllowed;
    case ResetReason::kRefused: return SocksReply::kRefused;
    case ResetReason::kNetworkUnreachable: return SocksReply::kNetworkUnreachable;
    case ResetReason::kNoAnswer:
    case ResetReason::kUnreachable:
    case ResetReason::kUnknownName:
    case ResetReason::kNoNameServer: return SocksReply::kHostUnreachable;
    case ResetReason::kGivenUp:
    case ResetReason::kTooMany:
    case ResetReason::kBrokenOff: break;
  }
  return SocksReply::kGeneralFailure;
}

void write_socks(Descriptor& socket, const std::vector<std::uint8_t>& answer) {
  if (answer.empty()) return;
  [[maybe_unused]] const IoResult ignored = socket.write(Bytes(answer));
}

SocksDoor::SocksDoor(std::shared_ptr<Descriptor> socket, std::function<void(Guest)> on_target,
                     std::function<void()> on_end)
    : socket_(std::move(socket)), on_target_(std::move(on_target)), on_end_(std::move(on_end)) {
  wait();
}

SocksDoor::~SocksDoor() {
  if (socket_) socket_->close();
}

void SocksDoor::wait() {
  socket_->async_wait_readable([this](std::error_code error) {
    if (!error) read();
  });
}

void SocksDoor::read() {
  std::array<std::uint8_t, 4096> buffer;
  const IoResult result = socket_->read(buffer);
  if (result.status == IoResult::Status::kWouldBlock) return wait();
  if (result.status != IoResult::Status::kBytes) return end();
  take(Bytes(buffer).first(result.bytes));
}

void SocksDoor::take(Bytes bytes) {
  const std::size_t taken = request_.feed(bytes);
  write_socks(*socket_, request_.take_answer());
  switch (request_.state()) {
    case SocksRequest::State::kMore: return wait();
    case SocksRequest::State::kFailed: return end();
    case SocksRequest::State::kTarget: break;
  }
  on_target_({std::exchange(socket_, nullptr), std::move(request_), bytes.subspan(taken)});
  on_end_();
}

void SocksDoor::end() {
  socket_->close();
  on_end_();
}

}  // namespace mcdtp
