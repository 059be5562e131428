#include "server/serve.h"

#include <unistd.h>

#include <asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/io/pump.h"
#include "common/io/system.h"
#include "common/io/tcp_link.h"
#include "server/command.h"

namespace mcdtp {
namespace {

constexpr int kFailed = 255;

// The address that the log-in came to: SSH_CONNECTION is "client port server port".
std::optional<Endpoint> login_address() {
  const char* connection = std::getenv("SSH_CONNECTION");
  if (connection == nullptr) return std::nullopt;
  const std::string text = connection;
  const auto client_end = text.find(' ');
  const auto port_end = text.find(' ', client_end + 1);
  const auto server_end = text.find(' ', port_end + 1);
  if (client_end == std::string::npos || port_end == std::string::npos || server_end == std::string::npos) {
    return std::nullopt;
  }
  return Endpoint::from_text(text.substr(port_end + 1, server_end - port_end - 1), 0);
}

using Sockets = std::vector<std::unique_ptr<UdpSocket>>;

// As many as can be had: fewer channels are better than none, and none than no session.
Sockets bind_sockets(asio::io_context& io, const ServerOptions& options, const Endpoint& address) {
  Sockets sockets;
  try {
    while (sockets.size() < options.channels) {
      UdpSocket::Options wanted;
      wanted.local = address;
      wanted.ports = options.ports;
      sockets.push_back(std::make_unique<UdpSocket>(io, wanted));
    }
  } catch (const std::runtime_error&) {
    // The greeting says how many there are.
  }
  return sockets;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw std::runtime_error("greeting the client: standard output takes nothing");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// One session from greeting to end.
class Server {
 public:
  explicit Server(const ServerOptions& options);
  int run();

 private:
  void greet(Greeting& greeting, const Sockets& sockets, bool listens);
  SessionConfig session_config(const ServerOptions& options, std::size_t channels) const;
  void start_command(const ServerOptions& options);
  void await_children();
  void await_end_signals();
  void reap();
  void on_event(const SessionEvent& event);
  void on_stream_news(const StreamNews& news);
  void end(int status);

  asio::io_context io_;
  asio::signal_set children_{io_, SIGCHLD};
  asio::signal_set end_signals_{io_, SIGTERM, SIGHUP, SIGINT};
  std::unique_ptr<SessionKeys> keys_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<TcpAcceptor> acceptor_;
  std::unique_ptr<Command> command_;
  std::unique_ptr<ReadPump> stdout_;
  std::unique_ptr<ReadPump> stderr_;
  std::unique_ptr<WritePump> stdin_;
  bool exit_sent_ = false;
  int status_ = 0;
};

Server::Server(const ServerOptions& options) {
  const auto address = login_address();
  const bool greets_address = address && is_greeting_address(address->address_text());
  Sockets sockets = greets_address ? bind_sockets(io_, options, *address) : Sockets{};
  Greeting greeting;
  greeting.cipher = preferred_cipher();
  random_bytes(greeting.secret);
  keys_ = std::make_unique<SessionKeys>(greeting.secret, greeting.cipher);
  const std::size_t channels = sockets.empty() ? options.channels : sockets.size();
  driver_ = std::make_unique<Driver>(
      io_, session_config(options, channels), *keys_,
      Driver::Callbacks{[this](const SessionEvent& event) { on_event(event); },
                        [this](const StreamNews& news) { on_stream_news(news); }, [this] { end(0); },
                        [this](ChannelId id) { acceptor_->on_link_end(id); }});
  bool listens = false;
  if (!sockets.empty()) {
    acceptor_ = std::make_unique<TcpAcceptor>(*driver_, sockets.front()->local());
    listens = acceptor_->start();
  }
  if (greets_address) greeting.address = address->address_text();
  greet(greeting, sockets, listens);
  for (ChannelId id = 0; id < sockets.size(); ++id) driver_->add_udp(id, std::move(sockets[id]), {}, false);
  driver_->add_ssh(Descriptor::borrow(io_, STDIN_FILENO), Descriptor::borrow(io_, STDOUT_FILENO), {});
  start_command(options);
}

void Server::greet(Greeting& greeting, const Sockets& sockets, bool listens) {
  for (const auto& socket : sockets) greeting.udp_ports.push_back(socket->local().port());
  if (listens) greeting.tcp_port = sockets.front()->local().port();
  std::string line = format_greeting(greeting);
  write_all(STDOUT_FILENO, line);
  wipe({reinterpret_cast<std::uint8_t*>(line.data()), line.size()});
}

SessionConfig Server::session_config(const ServerOptions& options, std::size_t channels) const {
  SessionConfig config;
  config.role = Role::kServer;
  config.channels = channels;
  config.memory = options.memory_bytes;
  // Told a rate, channels of their own control send it together.
  const std::uint64_t shares = options.coupling == Coupling::kNone ? channels : 1;
  std::optional<std::uint64_t> rate = options.rate_bps;
  if (rate) rate = std::max<std::uint64_t>(1, *rate / shares);
  config.congestion = [cc = options.cc, rate, pacing = *find_pacing(options.pacing)] {
    return make_congestion(cc, rate, pacing, random_number());
  };
  config.coupling = options.coupling;
  config.max_datagram = options.max_datagram;
  if (!config.congestion()) throw std::runtime_error("--cc " + options.cc + ": no such congestion control");
  return config;
}

void Server::start_command(const ServerOptions& options) {
  command_ = std::make_unique<Command>(CommandSpec{options.command, options.subsystem, options.environment});
  const auto own = [this](OwnedFd& pipe) { return std::make_shared<Descriptor>(io_, pipe.release()); };
  stdin_ = std::make_unique<WritePump>(
      *driver_, kStdio, std::make_unique<DescriptorSink>(own(command_->stdin_pipe())), [](WritePump::End) {});
  stdout_ = std::make_unique<ReadPump>(*driver_, kStdio, own(command_->stdout_pipe()), [] {});
  stderr_ = std::make_unique<ReadPump>(*driver_, kStderr, own(command_->stderr_pipe()), [] {});
  stdout_->start();
  stderr_->start();
  await_children();
  await_end_signals();
  // It may have ended before the handler was there.
  reap();
}

void Server::await_children() {
  children_.async_wait([this](std::error_code error, int) {
    if (error) return;
    reap();
    await_children();
  });
}

void Server::await_end_signals() {
  end_signals_.async_wait([this](std::error_code error, int) {
    if (!error) end(kFailed);
  });
}

// The command's own end is told at once; its output goes on until nobody holds it any more, as under ssh.
void Server::reap() {
  const auto status = command_->try_reap();
  if (!status || exit_sent_) return;
  exit_sent_ = true;
  stdin_->stop();
  driver_->session().send_exit(static_cast<std::uint8_t>(*status));
  driver_->kick();
}

void Server::on_stream_news(const StreamNews& news) {
  if (news.kind == StreamNews::Kind::kOpened) {
    // Forwarded connections are not served.
    driver_->streams().stop(news.stream);
    driver_->streams().reset(news.stream);
    driver_->streams().release(news.stream);
  }
  if (news.stream == kStdio && news.kind == StreamNews::Kind::kReadable) stdin_->on_readable();
  ReadPump* pump = news.stream == kStdio ? stdout_.get() : news.stream == kStderr ? stderr_.get() : nullptr;
  if (pump != nullptr && news.kind == StreamNews::Kind::kWritable) pump->on_writable();
  if (pump != nullptr && news.kind == StreamNews::Kind::kStopped) pump->on_stopped();
}

void Server::on_event(const SessionEvent& event) {
  if (event.kind != SessionEventKind::kPeerFault) return;
  write_stderr_all("mcdtp-server: the client broke the protocol: " + event.text + "\n");
  end(kFailed);
}

void Server::end(int status) {
  status_ = status;
  command_->hang_up();
  if (acceptor_) acceptor_->stop();
  driver_->stop();
  io_.stop();
}

int Server::run() {
  io_.run();
  return status_;
}

}  // namespace

int serve(const ServerOptions& options) { return Server(options).run(); }

}  // namespace mcdtp
