#include "client/ssh_libssh2.h"

#include <libssh2.h>
#include <malloc.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "client/channel_bridge.h"
#include "client/tcp_connect.h"
#include "common/core/bytes.h"
#include "common/io/system.h"

namespace mcdtp {
namespace {

constexpr int kFailure = 255;
constexpr std::size_t kMaxQueued = 64 * 1024;
constexpr unsigned kWindow = 16 << 20;
constexpr unsigned kPacket = 32768;
constexpr std::size_t kMostForLibssh2 = 32000;  // libssh2 refuses packets of 34,744 bytes and more
constexpr milliseconds kPatience = seconds(20);

// What libssh2 hands to our callbacks. In duplex a packet of libssh2's that is half sent makes reading fail,
// or hang when a new key exchange begins; so each packet is taken whole, here, and sent when the socket takes
// it.
struct Outside {
  std::optional<int> socket_fd;  // of the SSH connection
  std::string queue;
  std::string lost_because;  // the connection; empty as long as it lives
  bool has_exit_status = false;
};

Outside& outside_of(void** abstract) { return *static_cast<Outside*>(*abstract); }

// libssh2 speaks to the agent through this too, and then waits for the answer.
ssize_t queue_packet(libssh2_socket_t socket_fd, const void* data, std::size_t size, int flags,
                     void** abstract) {
  Outside& outside = outside_of(abstract);
  if (socket_fd != outside.socket_fd) {
    const ssize_t sent = ::send(socket_fd, data, size, flags);
    return sent < 0 ? -errno : sent;
  }
  outside.queue.append(static_cast<const char*>(data), size);
  return static_cast<ssize_t>(size);
}

// libssh2 would not say what the kernel does.
ssize_t receive(libssh2_socket_t socket_fd, void* buffer, std::size_t size, int flags, void** abstract) {
  const ssize_t got = ::recv(socket_fd, buffer, size, flags);
  const int error = errno;
  Outside& outside = outside_of(abstract);
  if (socket_fd == outside.socket_fd) {
    if (got == 0 && size > 0) outside.lost_because = "the far side has closed the connection";
    if (got < 0 && error != EAGAIN && error != EINTR) outside.lost_because = std::strerror(error);
  }
  if (got >= 0) return got;
  return error == EINTR ? -EAGAIN : -error;
}

void* allocate(std::size_t size, void**) { return std::malloc(size); }
void* reallocate(void* memory, std::size_t size, void**) { return std::realloc(memory, size); }

// libssh2 says status 0 too where the far side gave none. The packet that gives one (RFC 4254 section 6.10)
// passes here, in clear, when libssh2 is done with it.
void release(void* memory, void** abstract) {
  constexpr std::string_view kName("\0\0\0\013exit-status", 15);
  constexpr std::size_t kNameAt = 5;  // behind the message's number and the channel's
  constexpr char kChannelRequest = 98;
  const std::size_t size = memory ? malloc_usable_size(memory) : 0;
  const char* bytes = static_cast<const char*>(memory);
  if (size >= kNameAt + kName.size() && bytes[0] == kChannelRequest &&
      std::string_view(bytes + kNameAt, kName.size()) == kName) {
    outside_of(abstract).has_exit_status = true;
  }
  // It may hold a key.
  wipe({static_cast<std::uint8_t*>(memory), size});
  std::free(memory);
}

// A libssh2 session, never blocking. It lives as long as its process, whose end frees it.
class Session {
 public:
  // `host`: as the user names it.
  Session(std::string host, milliseconds patience);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The connection is made: within `patience` the far side has to say its version.
  void expect_version() { version_by_ = now() + patience_; }
  // Calls `function` until it stops asking for more of the socket. Throws BannerTimedOut, with the far address, where no
  // version came in time, and after a later silence of `patience`.
  template <typename Function>
  int complete(Function function) {
    int result = 0;
    while ((result = function()) == LIBSSH2_ERROR_EAGAIN) wait();
    flush();
    return result;
  }
  // Throws where it does not return 0; SessionRefused where it returns `refusal`.
  template <typename Function>
  void require(const std::string& attempt, Function function, int refusal = 0) {
    const int result = complete(function);
    if (result == 0) return;
    if (result == refusal) throw SessionRefused(attempt);
    fail(attempt);
  }
  [[noreturn]] void fail(const std::string& attempt) const;
  [[noreturn]] void lose(const std::string& reason) const;
  std::string last_error() const;

  // Throws where libssh2 knows none of `names`.
  void prefer(int method, const std::string& what, const std::vector<std::string>& names);
  bool flush();
  LIBSSH2_SESSION* get() const { return session_; }
  Outside& outside() { return outside_; }

 private:
  void wait();
  bool knows_version() const;

  Outside outside_;
  std::string host_;
  milliseconds patience_;
  Time version_by_{};
  LIBSSH2_SESSION* session_;
};

Session::Session(std::string host, milliseconds patience) : host_(std::move(host)), patience_(patience) {
  session_ = libssh2_session_init_ex(allocate, release, reallocate, &outside_);
  if (!session_) throw std::runtime_error("start libssh2: no memory");
  libssh2_session_set_blocking(session_, 0);
  libssh2_session_callback_set(session_, LIBSSH2_CALLBACK_SEND, reinterpret_cast<void*>(queue_packet));
  libssh2_session_callback_set(session_, LIBSSH2_CALLBACK_RECV, reinterpret_cast<void*>(receive));
}

std::string Session::last_error() const {
  if (!outside_.lost_because.empty()) return outside_.lost_because;
  char* reason = nullptr;
  libssh2_session_last_error(session_, &reason, nullptr, 0);
  return reason ? reason : "libssh2 does not say why";
}

void Session::fail(const std::string& attempt) const {
  throw std::runtime_error(attempt + ": " + last_error());
}

void Session::lose(const std::string& reason) const {
  throw std::runtime_error("the connection to " + host_ + " ended: " + reason);
}

// libssh2 would drop the names that it does not know, but by a memcpy() onto itself.
void Session::prefer(int method, const std::string& what, const std::vector<std::string>& names) {
  const char** known = nullptr;
  const int count = libssh2_session_supported_algs(session_, method, &known);
  std::string list;
  for (const std::string& name : names) {
    if (std::find(known, known + std::max(count, 0), name) != known + std::max(count, 0)) {
      list += (list.empty() ? "" : ",") + name;
    }
  }
  if (count > 0) libssh2_free(session_, known);
  if (list.empty()) throw std::runtime_error("libssh2 knows no " + what + " of the configuration");
  if (libssh2_session_method_pref(session_, method, list.c_str()) != 0) fail("choose a " + what);
}

// Returns whether any bytes went out.
bool Session::flush() {
  std::string& queue = outside_.queue;
  if (queue.empty()) return false;
  const ssize_t sent = ::send(outside_.socket_fd.value(), queue.data(), queue.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) lose(std::strerror(errno));
  if (sent > 0) queue.erase(0, static_cast<std::size_t>(sent));
  return sent > 0;
}

void Session::wait() {
  flush();
  const short events = static_cast<short>(outside_.queue.empty() ? POLLIN : POLLIN | POLLOUT);
  pollfd wanted{outside_.socket_fd.value(), events, 0};
  const bool is_known = knows_version();
  const auto left = is_known ? patience_ : std::chrono::ceil<milliseconds>(version_by_ - now());
  if (left > milliseconds(0) && poll(&wanted, 1, static_cast<int>(left.count())) != 0) return;
  if (!is_known) throw BannerTimedOut(peer_address(wanted.fd));
  throw std::runtime_error("wait for the far side: it is silent");
}

// Until it comes libssh2 keeps each line there, as a server may send some before it.
bool Session::knows_version() const {
  const char* line = libssh2_session_banner_get(session_);
  return line && std::string_view(line).starts_with("SSH-");
}

void shake_hands(Session& session, const Libssh2Plan& plan) {
  const SshConfig& config = plan.config;
  session.prefer(LIBSSH2_METHOD_HOSTKEY, "host key algorithm",
                 host_key_algorithms(config, plan.known, plan.facts.libssh2_version));
  session.prefer(LIBSSH2_METHOD_KEX, "key exchange", config.list("kexalgorithms"));
  for (const int method : {LIBSSH2_METHOD_CRYPT_CS, LIBSSH2_METHOD_CRYPT_SC}) {
    session.prefer(method, "cipher", config.list("ciphers"));
  }
  for (const int method : {LIBSSH2_METHOD_MAC_CS, LIBSSH2_METHOD_MAC_SC}) {
    session.prefer(method, "MAC", config.list("macs"));
  }
  session.require("agree on keys with the far side", [&] {
    return libssh2_session_handshake(session.get(), session.outside().socket_fd.value());
  });
}

void check_host_key(Session& session, const Libssh2Plan& plan) {
  std::size_t size = 0;
  int type = 0;
  const char* blob = libssh2_session_hostkey(session.get(), &size, &type);
  const std::string host = plan.config.known_hosts_name();
  if (!blob) throw std::runtime_error("the far side has no host key");
  switch (plan.known.judge({blob, size})) {
    case HostKeyVerdict::kKnown: return;
    case HostKeyVerdict::kUnknown: throw std::runtime_error("no host key of " + host + " is known");
    case HostKeyVerdict::kChanged:
      throw std::runtime_error("the host key of " + host + " is not the one known");
    case HostKeyVerdict::kRevoked: throw std::runtime_error("the host key of " + host + " is revoked");
  }
}

// The keys of the agent, none where there is no agent. Asking it blocks, as a person may have to confirm.
class Agent {
 public:
  Agent(Session& session, const std::optional<std::string>& socket_path);

  const std::vector<std::string>& blobs() const { return blobs_; }
  int authenticate(std::size_t index, const std::string& user) const {
    return libssh2_agent_userauth(agent_, user.c_str(), keys_[index]);
  }

 private:
  LIBSSH2_AGENT* agent_ = nullptr;
  std::vector<libssh2_agent_publickey*> keys_;
  std::vector<std::string> blobs_;
};

Agent::Agent(Session& session, const std::optional<std::string>& socket_path) {
  if (!socket_path) return;
  agent_ = libssh2_agent_init(session.get());
  if (!agent_) return;
  libssh2_agent_set_identity_path(agent_, socket_path->c_str());
  if (libssh2_agent_connect(agent_) != 0 || libssh2_agent_list_identities(agent_) != 0) return;
  libssh2_agent_publickey* key = nullptr;
  while (libssh2_agent_get_identity(agent_, &key, key) == 0) {
    keys_.push_back(key);
    blobs_.emplace_back(reinterpret_cast<const char*>(key->blob), key->blob_len);
  }
}

std::vector<KeyOffer> offers_of(const Libssh2Plan& plan, const Agent& agent) {
  auto offers = key_offers(plan.config, plan.facts.identities, agent.blobs(), plan.facts.libssh2_version);
  if (offers.empty()) throw std::runtime_error("there is no key");
  if (!offers.front().obstacle.empty()) throw std::runtime_error(offers.front().obstacle);
  return offers;
}

int authenticate_by_file(const Session& session, const std::string& user, const std::string& path) {
  return libssh2_userauth_publickey_fromfile_ex(
      session.get(), user.c_str(), static_cast<unsigned>(user.size()), nullptr, path.c_str(), nullptr);
}

// Offers the keys in turn, at least one. Throws where the far side takes none of those before the first obstacle, or
// anything but its no comes in between, as from an agent that does not sign: ssh might have gone on with that very key.
void authenticate(Session& session, const Libssh2Plan& plan, const Agent& agent,
                  const std::vector<KeyOffer>& offers) {
  const std::string user = plan.config.user();
  for (const KeyOffer& offer : offers) {
    if (!offer.obstacle.empty()) throw std::runtime_error(offer.obstacle);
    const std::size_t index = offer.key.index;
    const int result = session.complete([&] {
      return offer.key.from_agent ? agent.authenticate(index, user)
                                  : authenticate_by_file(session, user, plan.facts.identities[index].path);
    });
    if (result == 0) return;
    if (result != LIBSSH2_ERROR_AUTHENTICATION_FAILED) break;
  }
  session.fail("log in with the keys that libssh2 can use");
}

// The session's one channel, which runs the exec line.
class Libssh2Channel : public SshChannel {
 public:
  explicit Libssh2Channel(Session& session);

  void execute(const std::string& line);
  int exit_status() const;

  std::optional<std::size_t> write(std::string_view data) override;
  bool send_eof() override;
  std::optional<std::size_t> read(bool from_stderr, std::span<char> buffer) override;
  std::size_t unread() const override;
  bool at_eof() override { return libssh2_channel_eof(channel_) != 0; }
  bool is_closed() override { return succeeded(libssh2_channel_wait_closed(channel_)); }
  bool has_room() const override { return session_.outside().queue.size() < kMaxQueued; }
  bool has_unsent() const override { return !session_.outside().queue.empty(); }
  bool flush() override { return session_.flush(); }
  int socket_fd() const override { return session_.outside().socket_fd.value(); }

 private:
  bool succeeded(ssize_t result) const;

  Session& session_;
  LIBSSH2_CHANNEL* channel_ = nullptr;
};

Libssh2Channel::Libssh2Channel(Session& session) : session_(session) {
  const auto open = [&] {
    channel_ = libssh2_channel_open_ex(session_.get(), "session", std::strlen("session"), kWindow, kPacket,
                                       nullptr, 0);
    return channel_ ? 0 : libssh2_session_last_errno(session_.get());
  };
  session.require("open a channel", open, LIBSSH2_ERROR_CHANNEL_FAILURE);
}

void Libssh2Channel::execute(const std::string& line) {
  const auto start = [&] {
    return libssh2_channel_process_startup(channel_, "exec", std::strlen("exec"), line.data(),
                                           static_cast<unsigned>(line.size()));
  };
  session_.require("run the command", start, LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED);
}

// A death by signal has a packet of its own, and no status.
int Libssh2Channel::exit_status() const {
  constexpr int kStatusBits = 0xff;
  if (!session_.outside().has_exit_status) return kFailure;
  return libssh2_channel_get_exit_status(channel_) & kStatusBits;
}

bool Libssh2Channel::succeeded(ssize_t result) const {
  if (result < 0 && result != LIBSSH2_ERROR_EAGAIN) session_.lose(session_.last_error());
  return result >= 0;
}

// libssh2 says 0 where the far side's window is full.
std::optional<std::size_t> Libssh2Channel::write(std::string_view data) {
  const ssize_t taken = libssh2_channel_write_ex(channel_, 0, data.data(), data.size());
  if (!succeeded(taken) || taken == 0) return std::nullopt;
  return static_cast<std::size_t>(taken);
}

bool Libssh2Channel::send_eof() { return succeeded(libssh2_channel_send_eof(channel_)); }

std::optional<std::size_t> Libssh2Channel::read(bool from_stderr, std::span<char> buffer) {
  const int stream = from_stderr ? SSH_EXTENDED_DATA_STDERR : 0;
  const ssize_t got = libssh2_channel_read_ex(channel_, stream, buffer.data(), buffer.size());
  if (!succeeded(got) || got == 0) return std::nullopt;
  return static_cast<std::size_t>(got);
}

std::size_t Libssh2Channel::unread() const {
  unsigned long bytes = 0;
  libssh2_channel_window_read_ex(channel_, &bytes, nullptr);
  return bytes;
}

milliseconds patience_of(const SshConfig& config) {
  const auto timeout = config.connect_timeout();
  return timeout.value_or(0) > 0 ? milliseconds(seconds(*timeout)) : kPatience;
}

void log_in(Session& session, const Libssh2Plan& plan) {
  const Agent agent(session, plan.facts.agent_socket);
  const auto offers = offers_of(plan, agent);
  const SshConfig& config = plan.config;
  session.outside().socket_fd =
      connect_tcp(config.host_name(), *config.port(), config.address_family(), patience_of(config));
  // By the kernel: libssh2 keeps each answer to a keep-alive of its own for ever.
  end_after_silence(*session.outside().socket_fd, config.server_alive_interval(),
                    config.server_alive_count());
  session.expect_version();
  shake_hands(session, plan);
  check_host_key(session, plan);
  authenticate(session, plan, agent, offers);
}

// Carries the channel to its end. Returns the exit status.
int serve(Session& session, Libssh2Channel& channel, const std::string& exec_line) {
  channel.execute(exec_line);
  ChannelBridge(channel).run();
  libssh2_session_disconnect(session.get(), "disconnected by user");
  session.flush();
  return channel.exit_status();
}

}  // namespace

std::string libssh2_library_version() {
  const char* version = libssh2_version(0);
  return version ? version : "";
}

int run_libssh2(const Libssh2Plan& plan, const std::string& exec_line,
                const std::function<void(const std::string&)>& on_authenticated) {
  if (exec_line.size() > kMostForLibssh2) throw std::runtime_error("the command is too long for libssh2");
  signal(SIGPIPE, SIG_IGN);
  Session session(plan.host, patience_of(plan.config));
  log_in(session, plan);
  on_authenticated(peer_address(session.outside().socket_fd.value()));
  Libssh2Channel channel(session);
  return serve(session, channel, exec_line);
}

}  // namespace mcdtp
