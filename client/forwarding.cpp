#include "client/forwarding.h"

#include <algorithm>
#include <asio/post.hpp>

namespace mcdtp {
namespace {

std::string name_of(const ListenEnd& end) {
  return end.path.empty() ? "listen port " + std::to_string(end.port) : "listen path " + end.path;
}

std::string name_of(const ForwardEnd& end) {
  return end.path.empty() ? end.host + " port " + std::to_string(end.port) : end.path;
}

// "port 2049 to nfs port 2049".
std::string way_of(const Forward& forward, std::uint16_t port) {
  const bool by_socks =
      forward.kind == Forward::Kind::kDynamic || forward.kind == Forward::Kind::kRemoteDynamic;
  const std::string& path = forward.listen.path;
  return (path.empty() ? "port " + std::to_string(port) : path) + " to " +
         (by_socks ? "where SOCKS says" : name_of(forward.connect));
}
std::string way_of(const Forward& forward) { return way_of(forward, forward.listen.port); }

}  // namespace

std::string open_failure(const Dialer::Outcome& outcome) {
  switch (outcome.reason) {
    case ResetReason::kProhibited: return "open failed: administratively prohibited: open failed";
    case ResetReason::kTooMany: return "open failed: resource shortage";
    default: return "open failed: connect failed: " + outcome.error;
  }
}

Forwarding::Forwarding(Driver& driver, LocalPorts& ports, Callbacks callbacks)
    : driver_(driver),
      ports_(ports),
      plan_(ports.plan()),
      callbacks_(std::move(callbacks)),
      forwarder_(driver, [this] { callbacks_.on_idle(); }) {}

void Forwarding::start() {
  if (!ports_.open()) return callbacks_.on_failure();
  for (LocalPorts::Port& port : ports_.take()) listen(port);
  for (const Forward& forward : plan_.forwards) {
    if (const auto target = listen_target(forward)) ask(forward, *target);
  }
  driver_.kick();
  ready_if_all_answered();
}

void Forwarding::say(LogLevel level, const std::string& line) {
  if (plan_.is_said(level)) callbacks_.say(line);
}

// ---- ports here ----

void Forwarding::listen(LocalPorts::Port& port) {
  const Forward& forward = *port.forward;
  callbacks_.tell("forwarding " + way_of(forward));
  const Entrance& at = entrances_[&forward];
  for (OwnedFd& socket : port.sockets) {
    listeners_.push_back(std::make_unique<Listener>(
        driver_.io(), std::move(socket), [this, &at] { return forwarder_.may_accept(at); },
        [this, &forward, &at](std::shared_ptr<Descriptor> accepted) {
          accept(forward, at, std::move(accepted));
        }));
  }
}

void Forwarding::accept(const Forward& forward, const Entrance& at, std::shared_ptr<Descriptor> socket) {
  callbacks_.tell("a connection from " + way_of(forward));
  if (forward.kind == Forward::Kind::kDynamic) return open_door(at, std::move(socket));
  Forwarder::Hooks hooks;
  hooks.on_failed = [this, channel = next_channel()](const Dialer::Outcome& outcome) {
    return say_open_failed(outcome, channel);
  };
  forwarder_.carry(at, std::move(socket), connect_target(forward.connect), {}, std::move(hooks));
}

// As ssh counts: listeners and the session come first. Where one of many has ended before others ssh takes its number
// again, and we do not.
std::uint64_t Forwarding::next_channel() const {
  return listeners_.size() + (plan_.beside_command ? 1 : 0) + forwarder_.count() + doors_.size();
}

bool Forwarding::say_open_failed(const Dialer::Outcome& outcome, std::uint64_t channel) {
  say(LogLevel::kInfo, "channel " + std::to_string(channel) + ": " + open_failure(outcome));
  return false;
}

void Forwarding::open_door(const Entrance& at, std::shared_ptr<Descriptor> socket) {
  const auto place = doors_.insert(doors_.end(), nullptr);
  *place = std::make_unique<SocksDoor>(
      std::move(socket), [this, &at](SocksDoor::Guest guest) { admit(at, std::move(guest)); },
      [this, place, alive = std::weak_ptr(alive_)] {
        // Its own calls are still running.
        asio::post(driver_.io(), [this, place, alive] {
          if (!alive.expired()) doors_.erase(place);
        });
      });
}

// The answer goes before the first byte from there.
void Forwarding::admit(const Entrance& at, SocksDoor::Guest guest) {
  const auto socket = guest.socket;
  const auto request = std::make_shared<SocksRequest>(std::move(guest.request));
  const Target target = ToTcp{request->host(), request->port()};
  if (!is_sayable(target) || !forwarder_.may_accept(at)) {
    write_socks(*socket, request->reply(SocksReply::kGeneralFailure));
    return socket->close();
  }
  Forwarder::Hooks hooks;
  hooks.on_reached = [socket, request] { write_socks(*socket, request->reply(SocksReply::kConnected)); };
  // One of the doors is its own.
  hooks.on_failed = [this, socket, request, channel = next_channel() - 1](const Dialer::Outcome& outcome) {
    write_socks(*socket, request->reply(socks_failure(outcome.reason)));
    return say_open_failed(outcome, channel);
  };
  forwarder_.carry(at, socket, target, guest.early, std::move(hooks));
}

// ---- ports of the far side ----

void Forwarding::ask(const Forward& forward, const Target& target) {
  remotes_[driver_.streams().open(format_target(target))].forward = forward;
}

void Forwarding::on_remote_news(StreamId stream, Remote& remote) {
  Streams& streams = driver_.streams();
  for (Bytes bytes = streams.readable(stream); !bytes.empty(); bytes = streams.readable(stream)) {
    remote.answer.append(bytes.begin(), bytes.end());
    streams.consume(stream, bytes.size());
    if (remote.answer.size() > ListenAnswer::kMaxSize) break;
  }
  if (remote.answered) return remote.answer.clear();
  const bool whole = remote.answer.find('\n') != std::string::npos;
  if (whole || streams.read_to_end(stream) || remote.answer.size() > ListenAnswer::kMaxSize)
    on_answer(stream, remote);
}

void Forwarding::on_answer(StreamId stream, Remote& remote) {
  remote.answered = true;
  const auto answer = parse_listen_answer(remote.answer.substr(0, remote.answer.find('\n')));
  if (answer && answer->port) {
    on_bound(remote, *answer->port);
  } else {
    on_remote_failure(stream, remote);
  }
  ready_if_all_answered();
}

void Forwarding::on_bound(const Remote& remote, std::uint16_t port) {
  callbacks_.tell("the far side forwards " + way_of(remote.forward, port));
  const ForwardEnd& to = remote.forward.connect;
  if (!remote.forward.listen.path.empty() || remote.forward.listen.port != 0) return;
  const bool dynamic = remote.forward.kind == Forward::Kind::kRemoteDynamic;
  const std::string name = dynamic           ? "socks:0"
                           : to.path.empty() ? to.host + ":" + std::to_string(to.port)
                                             : to.path;
  say(LogLevel::kInfo, "Allocated port " + std::to_string(port) + " for remote forward to " + name);
}

void Forwarding::on_remote_failure(StreamId stream, Remote& remote) {
  const bool fatal = plan_.exit_on_failure;
  say(fatal ? LogLevel::kFatal : LogLevel::kInfo, (fatal ? "Error" : "Warning") +
                                                      std::string(": remote port forwarding failed for ") +
                                                      name_of(remote.forward.listen));
  driver_.streams().release(stream);
  driver_.kick();
  if (plan_.exit_on_failure) {
    failed_ = true;
    callbacks_.on_failure();
  }
}

void Forwarding::ready_if_all_answered() {
  const bool all =
      std::all_of(remotes_.begin(), remotes_.end(), [](const auto& entry) { return entry.second.answered; });
  if (failed_ || ready_ || !all) return;
  ready_ = true;
  if (plan_.holds_command()) let_command_begin();
  callbacks_.on_ready();
  callbacks_.on_idle();
}

// It begins when one more was asked for than is wanted: what cannot be had, and nobody reads the answer.
void Forwarding::let_command_begin() {
  const StreamId stream = driver_.streams().open(format_target(ListenUnix{"/"}));
  driver_.streams().finish(stream);
  driver_.streams().release(stream);
  driver_.kick();
}

// A hostile server must not reach what we can reach: it says which of the ports that we asked for a connection came
// to, and nothing else.
void Forwarding::on_opened(StreamId stream, const std::string& text) {
  const auto target = parse_target(text);
  const auto* from = target ? std::get_if<Forwarded>(&*target) : nullptr;
  const auto asked = from != nullptr ? remotes_.find(from->listener) : remotes_.end();
  if (asked == remotes_.end()) {
    driver_.streams().refuse(stream, ResetReason::kProhibited);
    return driver_.kick();
  }
  const Forward& forward = asked->second.forward;
  callbacks_.tell("a connection from the far side's " + way_of(forward));
  if (forward.kind == Forward::Kind::kRemoteDynamic) {
    socks_streams_[stream];
  } else {
    connect(stream, forward.connect);
  }
}

void Forwarding::connect(StreamId stream, const ForwardEnd& to) {
  Forwarder::Hooks hooks;
  hooks.on_failed = [this, to](const Dialer::Outcome& outcome) { return say_connect_failed(to, outcome); };
  if (!to.path.empty()) return forwarder_.dial(stream, ToUnix{to.path}, std::move(hooks));
  forwarder_.dial(stream, ToTcp{to.host, to.port}, plan_.family, std::move(hooks));
}

bool Forwarding::say_connect_failed(const ForwardEnd& to, const Dialer::Outcome& outcome) {
  if (outcome.reason == ResetReason::kUnknownName || outcome.reason == ResetReason::kNoNameServer) {
    say(LogLevel::kError, "connect_to " + to.host + ": unknown host (" + outcome.error + ")");
  } else if (outcome.at_once) {
    say(LogLevel::kError, "connect to " + name_of(to) + " failed: " + outcome.error);
  } else {
    say(LogLevel::kError, "connect_to " + name_of(to) + ": failed.");
  }
  return false;
}

// A program of the far side says by SOCKS where it wants to go from here.
void Forwarding::on_socks_news(StreamId stream, SocksRequest& request) {
  Streams& streams = driver_.streams();
  while (request.state() == SocksRequest::State::kMore) {
    const Bytes bytes = streams.readable(stream);
    if (bytes.empty()) break;
    streams.consume(stream, request.feed(bytes));
    write_stream(streams, stream, request.take_answer());
  }
  driver_.kick();
  if (request.state() == SocksRequest::State::kTarget) return connect_by_socks(stream, std::move(request));
  if (request.state() == SocksRequest::State::kMore && !streams.read_to_end(stream)) return;
  socks_streams_.erase(stream);
  streams.finish(stream);
  streams.release(stream);
}

void Forwarding::connect_by_socks(StreamId stream, SocksRequest request) {
  socks_streams_.erase(stream);
  const ForwardEnd to{request.host(), request.port(), {}};
  const auto reply = [this, stream, request](SocksReply code) {
    write_stream(driver_.streams(), stream, request.reply(code));
  };
  Forwarder::Hooks hooks;
  hooks.on_reached = [reply] { reply(SocksReply::kConnected); };
  hooks.on_failed = [this, stream, to, reply](const Dialer::Outcome& outcome) {
    say_connect_failed(to, outcome);
    reply(socks_failure(outcome.reason));
    driver_.streams().finish(stream);
    return true;
  };
  forwarder_.dial(stream, ToTcp{to.host, to.port}, plan_.family, std::move(hooks));
}

bool Forwarding::on_news(const StreamNews& news) {
  if (news.kind == StreamNews::Kind::kOpened) {
    on_opened(news.stream, news.target);
    return true;
  }
  if (forwarder_.on_news(news)) return true;
  if (const auto socks = socks_streams_.find(news.stream); socks != socks_streams_.end()) {
    on_socks_news(news.stream, socks->second);
    return true;
  }
  const auto found = remotes_.find(news.stream);
  if (found == remotes_.end()) return false;
  if (news.kind == StreamNews::Kind::kReadable) on_remote_news(news.stream, found->second);
  return true;
}

}  // namespace mcdtp
