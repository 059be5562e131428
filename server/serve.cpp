#include "server/serve.h"

#include <poll.h>
#include <unistd.h>

#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/io/descriptor_limit.h"
#include "common/io/home_path.h"
#include "common/io/pump.h"
#include "common/io/session_config.h"
#include "common/io/system.h"
#include "common/io/tcp_link.h"
#include "common/io/transfer_log.h"
#include "server/command.h"
#include "server/forwarding.h"

namespace mcdtp {
namespace {

constexpr int kFailed = 255;
// What the client has left behind is given up when nothing of it was taken for so long. A program may pause, and one
// whose host is gone ends by itself: see set_forwarding_options().
constexpr auto kDrainPatience = std::chrono::minutes(10);

// The addresses that the log-in came from and to: SSH_CONNECTION is "client port server port".
struct LoginAddresses {
  std::optional<Endpoint> from, to;
};
LoginAddresses login_addresses() {
  const char* connection = std::getenv("SSH_CONNECTION");
  std::istringstream words(connection != nullptr ? connection : "");
  std::string client, client_port, server, server_port;
  if (!(words >> client >> client_port >> server >> server_port)) return {};
  return {Endpoint::from_text(client, 0), Endpoint::from_text(server, 0)};
}

// As many as can be had: fewer channels are better than none, and none than no session.
UdpSockets bind_sockets(asio::io_context& io, const ServerOptions& options, const Endpoint& address) {
  UdpSockets sockets;
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

void complain(const std::string& sentence) { write_stderr_all("mcdtp-server: " + sentence + "\n"); }

// The client says nothing before the greeting, and ends our stdin where that comes too late: a command that it does not
// count on would run with nothing to read.
bool nobody_waits() {
  pollfd wanted{STDIN_FILENO, POLLRDHUP, 0};
  return ::poll(&wanted, 1, 0) > 0 && (wanted.revents & (POLLHUP | POLLRDHUP)) != 0;
}

// No shell has seen it here.
std::optional<std::string> log_file(const std::optional<std::string>& path) {
  const char* home = std::getenv("HOME");
  return path && home != nullptr ? in_home(*path, home) : path;
}

// One session from greeting to end.
class Server {
 public:
  explicit Server(const ServerOptions& options);
  int run();

 private:
  void make_driver(std::size_t sockets);
  void listen(UdpSockets& sockets);
  void listen_for_ssh();
  void greet(Greeting& greeting, const UdpSockets& sockets);
  void add_channels(UdpSockets sockets, const std::optional<LoginHost>& login_host);
  void finish_stdio();
  void on_port_asked_for();
  void open_log(const std::optional<Endpoint>& peer);
  void finish_log(int status);
  void start_command();
  void await_children();
  void await_end_signals();
  void reap();
  void on_event(const SessionEvent& event);
  void on_stream_news(const StreamNews& news);
  void on_client_gone();
  void await_drained();
  void end(int status);

  const ServerOptions& options_;
  asio::io_context io_;
  asio::signal_set children_{io_, SIGCHLD};
  asio::signal_set end_signals_{io_, SIGTERM, SIGHUP, SIGINT};
  asio::steady_timer drain_timer_{io_};
  std::unique_ptr<SessionKeys> keys_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<TransferLog> log_;  // none where nobody wants one, or it cannot be
  std::unique_ptr<LogSampler> log_sampler_;
  std::unique_ptr<TcpAcceptor> acceptor_;
  std::unique_ptr<ServerForwarding> forwarding_;
  std::unique_ptr<Command> command_;  // none where the client wants none
  std::unique_ptr<ReadPump> stdout_;
  std::unique_ptr<ReadPump> stderr_;
  std::unique_ptr<WritePump> stdin_;
  std::size_t ports_asked_for_ = 0;
  bool client_gone_ = false;
  bool exit_sent_ = false;        // or there is nobody to be told
  int command_status_ = kFailed;  // until it has one
  int status_ = 0;
};

Server::Server(const ServerOptions& options) : options_(options) {
  const auto [peer, address] = login_addresses();
  const bool greets_address =
      options.transport != Transport::kSsh && address && is_greeting_address(address->address_text());
  UdpSockets sockets = greets_address ? bind_sockets(io_, options, *address) : UdpSockets{};
  Greeting greeting;
  greeting.cipher = preferred_cipher();
  random_bytes(greeting.secret);
  if (greets_address) greeting.address = address->address_text();
  keys_ = std::make_unique<SessionKeys>(greeting.secret, greeting.cipher);
  make_driver(sockets.size());
  forwarding_ = std::make_unique<ServerForwarding>(*driver_, options.policy, [this] { on_port_asked_for(); });
  listen(sockets);
  open_log(peer);
  greet(greeting, sockets);
  const auto login_host = peer ? std::optional(LoginHost{*peer, options.login_host_alone}) : std::nullopt;
  add_channels(std::move(sockets), login_host);
  await_end_signals();
  if (options_.no_command) finish_stdio();
  if (!options_.no_command && options_.remote_forwards == 0) start_command();
}

void Server::make_driver(std::size_t sockets) {
  const std::size_t channels = sockets > 0 ? sockets : options_.channels;
  SendingOptions sending{options_.cc,           options_.pacing,
                         options_.rate_bps,     options_.coupling,
                         options_.max_datagram, options_.memory_bytes,
                         options_.max_rate_bps, sockets > 0 && options_.transport == Transport::kAuto};
  sending.links_go_by_ssh = options_.transport == Transport::kSsh;
  driver_ = std::make_unique<Driver>(
      io_, make_session_config(Role::kServer, sending, channels, channels), *keys_,
      Driver::Callbacks{[this](const SessionEvent& event) { on_event(event); },
                        [this](const StreamNews& news) { on_stream_news(news); },
                        [this] { on_client_gone(); }, [this](ChannelId id) { acceptor_->on_link_end(id); }});
}

// At channel 0's port: that of the first socket that nobody has by TCP. Where there is none the greeting says so, and
// nobody will come.
void Server::listen(UdpSockets& sockets) {
  if (options_.transport == Transport::kSsh) return listen_for_ssh();
  for (auto& socket : sockets) {
    acceptor_ = std::make_unique<TcpAcceptor>(*driver_, socket->local());
    if (acceptor_->start()) return socket.swap(sockets.front());
  }
  acceptor_.reset();
}

// Where further SSH connections of the client lead to, if it wants more than the one.
void Server::listen_for_ssh() {
  if (options_.channels == 1) return;
  acceptor_ = std::make_unique<TcpAcceptor>(*driver_, *Endpoint::from_text("127.0.0.1", 0));
  if (!acceptor_->start()) acceptor_.reset();
}

void Server::open_log(const std::optional<Endpoint>& peer) {
  if (!options_.log_path && !options_.full_log_path) return;
  try {
    log_ = std::make_unique<TransferLog>(log_file(options_.log_path), log_file(options_.full_log_path),
                                         complain);
  } catch (const std::runtime_error& error) {
    return complain(error.what());
  }
  log_->start(now(), peer ? peer->address_text() : "-");
  log_sampler_ = std::make_unique<LogSampler>(io_, *log_, driver_->session());
  log_sampler_->start();
}

// Once.
void Server::finish_log(int status) {
  log_sampler_.reset();
  if (const auto log = std::move(log_)) log->finish(now(), driver_->session(), status);
}

void Server::add_channels(UdpSockets sockets, const std::optional<LoginHost>& login_host) {
  for (ChannelId id = 0; options_.transport == Transport::kAuto && id < sockets.size(); ++id)
    driver_->add_udp(id, std::move(sockets[id]), {}, login_host);
  driver_->add_ssh(Descriptor::borrow(io_, STDIN_FILENO), Descriptor::borrow(io_, STDOUT_FILENO), {});
  if (acceptor_) acceptor_->want(driver_->session().wished_links());
}

// As under ssh the command finds the ports that were asked for before it.
void Server::on_port_asked_for() {
  if (++ports_asked_for_ == options_.remote_forwards && !options_.no_command) start_command();
}

void Server::finish_stdio() {
  raise_descriptor_limit();
  driver_->streams().finish(kStdio);
  driver_->streams().finish(kStderr);
  driver_->kick();
}

void Server::greet(Greeting& greeting, const UdpSockets& sockets) {
  for (const auto& socket : sockets) greeting.udp_ports.push_back(socket->local().port());
  if (acceptor_) greeting.tcp_port = acceptor_->local().port();
  std::string line = format_greeting(greeting);
  write_all(STDOUT_FILENO, line);
  wipe({reinterpret_cast<std::uint8_t*>(line.data()), line.size()});
}

void Server::start_command() {
  command_ = std::make_unique<Command>(
      CommandSpec{options_.command, options_.subsystem, options_.environment, account_of_user()});
  const auto own = [this](OwnedFd& pipe) { return std::make_shared<Descriptor>(io_, pipe.release()); };
  stdin_ = std::make_unique<WritePump>(
      *driver_, kStdio, std::make_unique<DescriptorSink>(own(command_->stdin_pipe())), [](WritePump::End) {});
  stdout_ = std::make_unique<ReadPump>(*driver_, kStdio, own(command_->stdout_pipe()), [] {});
  stderr_ = std::make_unique<ReadPump>(*driver_, kStderr, own(command_->stderr_pipe()), [] {});
  stdout_->start();
  stderr_->start();
  // What the client has said while the command waited for ports.
  stdin_->on_readable();
  if (driver_->streams().gave_up(kStdio)) stdout_->on_stopped();
  if (driver_->streams().gave_up(kStderr)) stderr_->on_stopped();
  await_children();
  // The command has the limit that it was given.
  raise_descriptor_limit();
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
  command_status_ = *status;
  stdin_->stop();
  driver_->session().send_exit(static_cast<std::uint8_t>(*status));
  driver_->kick();
}

void Server::on_stream_news(const StreamNews& news) {
  if (client_gone_ || forwarding_->on_news(news)) return;
  if (stdin_ && news.stream == kStdio && news.kind == StreamNews::Kind::kReadable) stdin_->on_readable();
  ReadPump* pump = news.stream == kStdio ? stdout_.get() : news.stream == kStderr ? stderr_.get() : nullptr;
  if (pump != nullptr && news.kind == StreamNews::Kind::kWritable) pump->on_writable();
  if (pump != nullptr && news.kind == StreamNews::Kind::kStopped) pump->on_stopped();
}

void Server::on_event(const SessionEvent& event) {
  if (acceptor_) acceptor_->want(driver_->session().wished_links());
  if (event.kind == SessionEventKind::kChannelProved && log_) log_->on_proved(event.channel);
  if (event.kind == SessionEventKind::kSet) driver_->remove_udp_above(event.value);
  if (event.kind == SessionEventKind::kPeerPort)
    driver_->expect_udp(event.channel, static_cast<std::uint16_t>(event.value));
  if (event.kind != SessionEventKind::kPeerFault) return;
  complain("the client broke the protocol: " + event.text);
  end(kFailed);
}

// What it had sent to the end of a forwarded connection still gets there.
void Server::on_client_gone() {
  client_gone_ = true;
  finish_log(options_.no_command ? 0 : command_status_);
  if (command_) command_->hang_up();
  exit_sent_ = true;
  stdin_.reset();
  stdout_.reset();
  stderr_.reset();
  if (acceptor_) acceptor_->stop();
  driver_->stop();
  await_drained();
  forwarding_->drain([this] { end(0); });
}

void Server::await_drained() {
  drain_timer_.expires_after(kDrainPatience);
  drain_timer_.async_wait([this, before = forwarding_->taken()](std::error_code error) {
    if (error) return;
    if (forwarding_->taken() == before) return end(0);
    await_drained();
  });
}

void Server::end(int status) {
  status_ = status;
  finish_log(status);
  if (command_) command_->hang_up();
  if (acceptor_) acceptor_->stop();
  driver_->stop();
  io_.stop();
}

int Server::run() {
  io_.run();
  return status_;
}

}  // namespace

int serve(const ServerOptions& options) { return nobody_waits() ? kNobodyWaits : Server(options).run(); }

}  // namespace mcdtp
