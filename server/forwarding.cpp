#include "server/forwarding.h"

#include <sys/socket.h>

#include <stdexcept>

namespace mcdtp {
namespace {

// sshd works in the root folder.
std::string from_root(const std::string& path) { return path.starts_with('/') ? path : "/" + path; }

}  // namespace

bool ServerForwarding::on_news(const StreamNews& news) {
  if (news.kind == StreamNews::Kind::kOpened) {
    on_opened(news.stream, news.target);
    return true;
  }
  if (forwarder_.on_news(news)) return true;
  if (!ports_.contains(news.stream)) return false;
  on_listener_news(news.stream);
  return true;
}

void ServerForwarding::on_opened(StreamId stream, const std::string& text) {
  const auto target = parse_target(text);
  const bool listens =
      target && (std::holds_alternative<ListenTcp>(*target) || std::holds_alternative<ListenUnix>(*target));
  if (!target || !permits(policy_, *target)) {
    driver_.streams().refuse(stream, ResetReason::kProhibited);
    driver_.kick();
  } else if (listens) {
    listen(stream, *target);
  } else {
    connect(stream, *target);
  }
  if (listens) on_asked_();
}

void ServerForwarding::connect(StreamId stream, const Target& target) {
  if (const auto* to = std::get_if<ToTcp>(&target)) return forwarder_.dial(stream, *to, AF_UNSPEC);
  forwarder_.dial(stream, ToUnix{from_root(std::get<ToUnix>(target).path)});
}

void ServerForwarding::listen(StreamId stream, const Target& target) {
  if (const auto* on = std::get_if<ListenUnix>(&target))
    return accept_on(stream, listen_unix(from_root(on->path), {}));
  const auto& on = std::get<ListenTcp>(target);
  const std::string address = listen_address(policy_.gateway_ports, on.address);
  accept_on(stream, listen_tcp(listen_addresses(address, on.port, AF_UNSPEC, ListenNames::kDigitsOnly)));
}

void ServerForwarding::accept_on(StreamId stream, Listening listening) {
  if (!listening.sockets.empty() && start_listeners(stream, listening)) {
    driver_.streams().reached(stream);
    return answer(stream, {listening.port, {}});
  }
  ports_.erase(stream);
  answer(stream, {std::nullopt, listening.failure.empty() ? "it cannot be had" : listening.failure});
  driver_.streams().finish(stream);
  driver_.streams().release(stream);
}

// False: the system watches no more sockets.
bool ServerForwarding::start_listeners(StreamId stream, Listening& listening) {
  Port& port = ports_[stream];
  try {
    for (OwnedFd& socket : listening.sockets) {
      port.listeners.push_back(std::make_unique<Listener>(
          driver_.io(), std::move(socket), [this, &port] { return forwarder_.may_accept(port.entrance); },
          [this, &port, stream](std::shared_ptr<Descriptor> accepted) {
            forwarder_.carry(port.entrance, std::move(accepted), Forwarded{stream});
          }));
    }
  } catch (const std::runtime_error& error) {
    listening.failure = error.what();
    return false;
  }
  return true;
}

void ServerForwarding::answer(StreamId stream, const ListenAnswer& answer) {
  write_stream(driver_.streams(), stream, as_bytes(format_listen_answer(answer)));
  driver_.kick();
}

void ServerForwarding::drain(std::function<void()> on_done) {
  ports_.clear();
  forwarder_.drain();
  if (forwarder_.count() == 0) return on_done();
  on_drained_ = std::move(on_done);
}

// The client wants it no more. What it sends otherwise means nothing.
void ServerForwarding::on_listener_news(StreamId stream) {
  Streams& streams = driver_.streams();
  for (Bytes bytes = streams.readable(stream); !bytes.empty(); bytes = streams.readable(stream))
    streams.consume(stream, bytes.size());
  if (!streams.gave_up(stream) && !streams.read_to_end(stream)) return;
  ports_.erase(stream);
  streams.release(stream);
  driver_.kick();
}

}  // namespace mcdtp
