#include "client/session.h"

#include <unistd.h>

#include <algorithm>
#include <asio/signal_set.hpp>
#include <csignal>
#include <cstring>

#include "client/forwarding.h"
#include "client/output_sinks.h"
#include "client/relay_doubt.h"
#include "client/say.h"
#include "client/ssh_links.h"
#include "common/io/descriptor_limit.h"
#include "common/io/host_memory.h"
#include "common/io/pump.h"
#include "common/io/session_config.h"
#include "common/io/system.h"
#include "common/io/tcp_link.h"

namespace mcdtp {
namespace {

constexpr int kFailed = 255;
constexpr Duration kSignalGrace = milliseconds(50);
constexpr std::uint64_t kWorthALogIn = 256 * 1024;  // bytes of streams, of both directions

std::vector<Endpoint> with_port(const std::vector<Endpoint>& addresses, std::uint16_t port) {
  std::vector<Endpoint> result;
  for (const Endpoint& address : addresses) result.push_back(address.with_port(port));
  return result;
}

class ClientSession {
 public:
  ClientSession(const Options& options, LocalPorts& ports, Login& login,
                const std::optional<Remembered>& remembered, TransferLog& log,
                const std::vector<int>& end_signals, std::function<void()> on_ready);
  std::optional<int> run();

 private:
  std::vector<Endpoint> find_far_addresses(const Login& login) const;
  UdpSockets open_sockets(const Greeting& greeting);
  SessionConfig session_config(const Greeting& greeting) const;
  void add_channels(const Greeting& greeting);
  std::unique_ptr<Links> make_links(const Login& login);
  void want_links();
  void start_forwarding();
  void start_pumps();
  void await_signals(const std::vector<int>& end_signals);
  void on_event(const SessionEvent& event);
  void on_proved(ChannelId id);
  const char* way_without_udp() const;
  void on_stream_news(const StreamNews& news);
  void on_own_news(const StreamNews& news);
  void on_output_lost(int error);
  void on_output_end(WritePump::End end);
  void on_stdio_failure();
  void on_ssh_end();
  void end_if_done();
  void end_if_stdio_done();
  void fail(const std::string& sentence);
  void note_blocked_udp(bool may_say);
  void end_well(int status);
  void end(int status);
  void tell_statistics() const;
  void tell(const std::string& line) const;

  const Options& options_;
  const ForwardPlan& plan_;
  ChildProcess& ssh_;
  const std::optional<Remembered>& remembered_;
  TransferLog& log_;
  bool doubts_udp_;           // none came of late
  bool udp_blocked_ = false;  // none comes now
  asio::io_context io_;
  asio::signal_set signals_{io_};
  asio::steady_timer ssh_end_timer_{io_};
  RelayDoubt relay_doubt_;
  std::vector<Endpoint> far_addresses_;
  UdpSockets sockets_;  // until the driver has them
  SessionKeys keys_;
  Driver driver_;
  LogSampler log_sampler_;
  std::unique_ptr<Links> links_;
  Forwarding forwarding_;
  StreamId stdio_ = kStdio;  // what stdin and stdout are: the command's, or the connection of -W
  std::unique_ptr<ReadPump> stdin_;
  std::unique_ptr<WritePump> stdout_;
  std::unique_ptr<WritePump> stderr_;
  std::optional<int> command_status_;
  bool stdin_ended_ = false;
  bool output_lost_ = false;
  bool ended_ = false;
  int status_ = kFailed;
};

ClientSession::ClientSession(const Options& options, LocalPorts& ports, Login& login,
                             const std::optional<Remembered>& remembered, TransferLog& log,
                             const std::vector<int>& end_signals, std::function<void()> on_ready)
    : options_(options),
      plan_(ports.plan()),
      ssh_(*login.ssh),
      remembered_(remembered),
      log_(log),
      doubts_udp_(options.transport == Transport::kAuto && remembered &&
                  remembered->udp.is_blocked(seconds_since_1970())),
      relay_doubt_(io_, options.relay && remembered ? &remembered->relay : nullptr),
      far_addresses_(find_far_addresses(login)),
      sockets_(open_sockets(*login.finder.greeting())),
      keys_(login.finder.greeting()->secret, login.finder.greeting()->cipher),
      driver_(io_, session_config(*login.finder.greeting()), keys_,
              {[this](const SessionEvent& event) { on_event(event); },
               [this](const StreamNews& news) { on_stream_news(news); }, [this] { on_ssh_end(); },
               [this](ChannelId id) { links_->on_link_end(id); }}),
      log_sampler_(io_, log, driver_.session()),
      forwarding_(driver_, ports,
                  {std::move(on_ready), [this] { end(kFailed); }, [this] { end_if_done(); },
                   write_line_if_room, [this](const std::string& line) { tell(line); }}) {
  const Greeting& greeting = *login.finder.greeting();
  // First: the command may run already and have ended, and its end be among the early bytes.
  start_forwarding();
  driver_.add_ssh(std::make_shared<Descriptor>(io_, login.ssh->take_stdout()),
                  std::make_shared<Descriptor>(io_, login.ssh->take_stdin()), login.finder.rest());
  add_channels(greeting);
  links_ = make_links(login);
  want_links();
  start_pumps();
  await_signals(end_signals);
  log_.start(now(), options_.host);
  log_sampler_.start();
}

// None where SSH alone is to carry the data.
std::vector<Endpoint> ClientSession::find_far_addresses(const Login& login) const {
  if (options_.transport == Transport::kSsh) return {};
  const auto addresses = login.addresses->candidates(login.finder.greeting()->address, login.peer_address);
  const std::string ways = options_.transport == Transport::kTcp ? "TCP" : "UDP and TCP";
  for (const Endpoint& address : addresses) tell("trying " + ways + " at " + address.address_text());
  if (addresses.empty()) tell("the server does not know its address, or there is no IPv6 here: no UDP");
  return addresses;
}

SessionConfig ClientSession::session_config(const Greeting& greeting) const {
  SendingOptions sending{options_.congestion,           options_.pacing,
                         options_.rate_bits_per_second, options_.coupling,
                         options_.max_datagram,         options_.memory_bytes.value_or(default_memory())};
  sending.max_rate = options_.max_rate_bits_per_second;
  sending.datagrams =
      options_.transport == Transport::kAuto && !far_addresses_.empty() && !greeting.udp_ports.empty();
  sending.doubts_datagrams = doubts_udp_;
  sending.links_go_by_ssh = options_.transport == Transport::kSsh;
  for (const auto& socket : sockets_) sending.ports.push_back(socket->local().port());
  return make_session_config(Role::kClient, sending, options_.channels,
                             std::min<std::size_t>(options_.channels, greeting.udp_ports.size()));
}

// None where there is no use for them; fewer than the server has where the system gives no more.
UdpSockets ClientSession::open_sockets(const Greeting& greeting) {
  UdpSockets sockets;
  if (far_addresses_.empty() || options_.transport != Transport::kAuto) return sockets;
  if (doubts_udp_) tell("no UDP came through of late, says " + remembered_->udp.path() + ": not waited for");
  const bool only_v4 =
      std::all_of(far_addresses_.begin(), far_addresses_.end(), [](const Endpoint& a) { return a.is_v4(); });
  UdpSocket::Options wanted;
  wanted.local = Endpoint::any(only_v4 ? AF_INET : AF_INET6);
  const std::size_t count = std::min<std::size_t>(options_.channels, greeting.udp_ports.size());
  try {
    while (sockets.size() < count) sockets.push_back(std::make_unique<UdpSocket>(io_, wanted));
  } catch (const std::runtime_error& error) {
    tell(error.what());
  }
  return sockets;
}

void ClientSession::add_channels(const Greeting& greeting) {
  for (ChannelId id = 0; id < sockets_.size(); ++id)
    driver_.add_udp(id, std::move(sockets_[id]), with_port(far_addresses_, greeting.udp_ports[id]));
  sockets_.clear();
}

std::unique_ptr<Links> ClientSession::make_links(const Login& login) {
  const auto port = login.finder.greeting()->tcp_port;
  const auto make_tcp = [this](std::vector<Endpoint> at) {
    return std::make_unique<TcpLinks>(driver_, std::move(at));
  };
  if (!port && options_.transport == Transport::kSsh && options_.channels > 1)
    tell("no further SSH connection: the server listens for none");
  if (!port) return make_tcp({});
  if (options_.transport != Transport::kSsh) return make_tcp(with_port(far_addresses_, *port));
  if (login.further_ssh.empty()) {
    tell("no further SSH connection: there is a security key");
    return make_tcp({});
  }
  std::vector<std::string> argv = login.further_ssh;
  argv.insert(argv.end(), {"-W", "127.0.0.1:" + std::to_string(*port), "--", options_.host});
  return std::make_unique<SshLinks>(driver_, std::move(argv),
                                    options_.verbose > 0 ? ChildStderr::kOurs : ChildStderr::kNone,
                                    [this](const std::string& line) { tell(line); });
}

// A log-in is worth it only where there is much to move.
void ClientSession::want_links() {
  const std::uint64_t moved = driver_.streams().bytes_sent() + driver_.streams().bytes_taken();
  if (options_.transport == Transport::kSsh && moved < kWorthALogIn) return;
  links_->want(driver_.session().wished_links());
}

// Nothing is started after this that needs the limit as it was: a further ssh does not mind.
void ClientSession::start_forwarding() {
  if (plan_.forwards_anything()) raise_descriptor_limit();
  if (plan_.stdio) stdio_ = driver_.streams().open(format_target(connect_target(*plan_.stdio)));
  asio::post(io_, [this] { forwarding_.start(); });
}

void ClientSession::start_pumps() {
  std::unique_ptr<Sink> out = std::make_unique<NullSink>();
  if (plan_.stdio)
    out = std::make_unique<ConnectionSink>(Descriptor::borrow(io_, STDOUT_FILENO),
                                           [this](int error) { on_output_lost(error); });
  else if (!options_.no_command)
    out = std::make_unique<DescriptorSink>(Descriptor::borrow(io_, STDOUT_FILENO));
  stdout_ = std::make_unique<WritePump>(driver_, stdio_, std::move(out),
                                        [this](WritePump::End end) { on_output_end(end); });
  stderr_ = std::make_unique<WritePump>(driver_, kStderr, std::make_unique<StderrSink>(io_),
                                        [this](WritePump::End) { end_if_done(); });
  if (options_.no_command) driver_.streams().finish(kStdio);
  if (!plan_.stdio && (options_.no_stdin || options_.no_command)) {
    driver_.streams().finish(stdio_);
    stdin_ended_ = true;
    return driver_.kick();
  }
  stdin_ = std::make_unique<ReadPump>(driver_, stdio_, Descriptor::borrow(io_, STDIN_FILENO), [this] {
    stdin_ended_ = true;
    end_if_done();
  });
  relay_doubt_.when_settled([this] { stdin_->start(); });
}

// Silently, and with ssh's status: the SSH channel goes down with us, and that ends the far side.
void ClientSession::await_signals(const std::vector<int>& end_signals) {
  for (const int number : end_signals) signals_.add(number);
  signals_.async_wait([this](std::error_code error, int signal) {
    if (error) return;
    ssh_.let_end(false);
    end(options_.no_command && signal == SIGTERM ? 0 : kFailed);
  });
}

void ClientSession::on_stream_news(const StreamNews& news) {
  // It may have been the last of what had to come out of our hands.
  const bool done_with = news.kind == StreamNews::Kind::kDelivered || news.kind == StreamNews::Kind::kStopped;
  if (!forwarding_.on_news(news)) on_own_news(news);
  if (done_with) end_if_done();
  if (!ended_ && options_.transport == Transport::kSsh) want_links();
}

void ClientSession::on_own_news(const StreamNews& news) {
  if (news.kind == StreamNews::Kind::kReadable && news.stream == stdio_) {
    if (!driver_.streams().was_reset(stdio_)) relay_doubt_.on_works();
    stdout_->on_readable();
  }
  if (news.kind == StreamNews::Kind::kReadable && news.stream == kStderr) stderr_->on_readable();
  if (stdin_ && news.stream == stdio_ && news.kind == StreamNews::Kind::kWritable) stdin_->on_writable();
  if (stdin_ && news.stream == stdio_ && news.kind == StreamNews::Kind::kStopped) stdin_->on_stopped();
}

void ClientSession::on_event(const SessionEvent& event) {
  switch (event.kind) {
    case SessionEventKind::kSet: driver_.remove_udp_above(event.value); break;
    case SessionEventKind::kPeerPort: break;  // for a server
    case SessionEventKind::kLinkHelps:
      tell("channel " + std::to_string(event.channel) +
           ": more comes through by TCP, which carries data as well");
      break;
    case SessionEventKind::kChannelProved: on_proved(event.channel); break;
    case SessionEventKind::kChannelDoubted:
      tell("channel " + std::to_string(event.channel) + ": nothing comes back, not used until it answers");
      break;
    case SessionEventKind::kUdpBlocked:
      tell(std::string("no answer by UDP: the stream goes over ") + way_without_udp());
      udp_blocked_ = !driver_.udp_channels().empty();
      break;
    case SessionEventKind::kWaySought: links_->hurry(); break;
    case SessionEventKind::kUdpOneWay:
      tell(std::string("nothing comes by UDP: what the server sends goes over ") + way_without_udp());
      break;
    case SessionEventKind::kExit:
      if (options_.no_command) break;
      command_status_ = static_cast<int>(event.value);
      end_if_done();
      break;
    case SessionEventKind::kPeerFault: fail("the server broke the protocol: " + event.text); break;
  }
  if (!ended_) want_links();
}

void ClientSession::on_proved(ChannelId id) {
  log_.on_proved(id);
  const std::string name = "channel " + std::to_string(id);
  if (id == kSshChannel) return tell("the SSH channel carries packets");
  if (id >= kFirstTcpChannel) {
    links_->on_proved(id);
    const char* place = links_->proved() == 1 ? ": the control link is " : ": ";
    return tell(name + place + std::string(links_->kind()));
  }
  const Channel* channel = driver_.session().channel(id);
  // Closed since, or silent again.
  const auto path = channel != nullptr ? channel->paths.active() : std::nullopt;
  if (!path) return;
  udp_blocked_ = false;
  if (std::exchange(doubts_udp_, false)) remembered_->udp.forget();
  tell(name + ": proved, UDP to " + driver_.udp_channels().at(id)->address(*path).to_string());
}

const char* ClientSession::way_without_udp() const {
  return links_->proved() == 0 ? "the SSH connection" : "direct TCP connections";
}

void ClientSession::on_output_lost(int error) {
  if (error == 0) return;
  say_if_room(std::string("write standard output: ") + std::strerror(error));
  output_lost_ = true;
}

void ClientSession::on_output_end(WritePump::End end) {
  on_output_lost(end.error);
  if (plan_.stdio && !end.whole && driver_.streams().was_reset(stdio_)) return on_stdio_failure();
  // The far end of -W has said all: as with ssh nothing more is read for it.
  if (plan_.stdio && end.whole && stdin_) stdin_->finish();
  end_if_done();
}

void ClientSession::on_stdio_failure() {
  const ResetReason reason = driver_.streams().reset_reason(stdio_);
  if (relay_doubt_.is_relay() && reason == ResetReason::kProhibited) {
    relay_doubt_.on_prohibited();
    if (relay_doubt_.gives_back()) return end(kFailed);
  } else {
    relay_doubt_.on_works();
  }
  if (reason != ResetReason::kGivenUp) {
    if (plan_.log_level >= LogLevel::kInfo)
      write_line_if_room("channel 0: " + open_failure({nullptr, reason, sentence_of(reason)}));
    if (plan_.log_level >= LogLevel::kFatal) write_line_if_room("stdio forwarding failed");
  }
  this->end(kFailed);
}

// All is over once the command's status is in and its output is out, no -R awaits its answer and no forwarded connection
// is left, as with ssh, and what went into those has come out of our hands.
void ClientSession::end_if_done() {
  if (ended_ || !stdout_->ended() || !stderr_->ended()) return;
  if (plan_.stdio) return end_if_stdio_done();
  if (!command_status_ || !forwarding_.is_idle()) return;
  if (driver_.streams().delivered()) end_well(*command_status_);
}

// Without a command only -W has an end of its own: the connection's, which as with ssh does not wait for others.
void ClientSession::end_if_stdio_done() {
  if (stdin_ended_ && driver_.streams().delivered(stdio_)) end_well(0);
}

// A signal to all of our process group, as a terminal's Ctrl-C, ends ssh as well, and its end may be seen first.
void ClientSession::on_ssh_end() {
  ssh_end_timer_.expires_after(kSignalGrace);
  ssh_end_timer_.async_wait([this](std::error_code error) {
    if (error) return;
    if (ssh_.has_ended() && ssh_.has_said_why()) return this->end(kFailed);
    fail("the connection to " + options_.host + " ended" +
         (options_.no_command ? "" : " before the command did"));
  });
}

void ClientSession::fail(const std::string& sentence) {
  if (!options_.quiet) say_if_room(sentence);
  end(kFailed);
}

// For the next run. Who ends well says it, once; a failure has its own sentence.
void ClientSession::note_blocked_udp(bool may_say) {
  if (!std::exchange(udp_blocked_, false) || !remembered_) return;
  const bool says = may_say && !options_.quiet && !remembered_->udp.was_said(seconds_since_1970());
  if (!remembered_->udp.remember(seconds_since_1970(), says) || !says) return;
  const bool by_ssh = links_->proved() == 0;
  say_if_room("no UDP comes through from " + options_.host + ": " + way_without_udp() +
              (by_ssh ? " carries the data (not said again; see --transport ssh)"
                      : " carry the data (not said again)"));
}

void ClientSession::end_well(int status) {
  note_blocked_udp(!output_lost_);
  end(output_lost_ ? kFailed : status);
}

void ClientSession::end(int status) {
  if (std::exchange(ended_, true)) return;
  status_ = status;
  note_blocked_udp(false);
  tell_statistics();
  log_.finish(now(), driver_.session(), status);
  links_->stop();
  driver_.stop();
  io_.stop();
}

void ClientSession::tell_statistics() const {
  const SessionStatistics& sent = driver_.session().statistics();
  std::uint64_t unopened = 0;
  for (const auto& [id, channel] : driver_.udp_channels()) unopened += channel->unopened();
  tell("sent " + std::to_string(sent.packets_sent) + " packets, " + std::to_string(sent.packets_lost) +
       " lost, " + std::to_string(sent.spurious_losses) + " of them not; dropped " +
       std::to_string(unopened) + " from strangers, " + std::to_string(sent.bad_reports) + " bad reports");
  tell("no room in the system for " + std::to_string(sent.kernel_drops) + " datagrams here, " +
       std::to_string(sent.peer_kernel_drops) + " there");
  tell("datagrams of up to " + std::to_string(sent.largest_sent) + " bytes sent, " +
       std::to_string(sent.largest_received) + " received");
}

std::optional<int> ClientSession::run() {
  io_.run();
  return relay_doubt_.gives_back() ? std::nullopt : std::optional(status_);
}

void ClientSession::tell(const std::string& line) const {
  if (options_.verbose > 0) say_if_room(line);
}

}  // namespace

std::optional<int> run_session(const Options& options, LocalPorts& ports, Login& login,
                               const std::optional<Remembered>& remembered, TransferLog& log,
                               const std::vector<int>& end_signals, std::function<void()> on_ready) {
  return ClientSession(options, ports, login, remembered, log, end_signals, std::move(on_ready)).run();
}

}  // namespace mcdtp
