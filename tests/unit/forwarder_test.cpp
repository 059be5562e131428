#include "common/io/forwarder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include <filesystem>
#include <list>
#include <optional>
#include <utility>

#include "common/io/listener.h"
#include "common/io/system.h"
#include "server/forwarding.h"
#include "tests/unit/driver_pair.h"
#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

// A program's socket, that never blocks.
class Program {
 public:
  explicit Program(int fd) : fd_(fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }
  static Program connect(const Endpoint& to) {
    const int fd = socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, to.data(), to.size()), 0);
    return Program(fd);
  }

  void write(std::string_view text) const {
    EXPECT_EQ(::write(fd_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() const { shutdown(fd_.get(), SHUT_WR); }
  void read_no_more() const { shutdown(fd_.get(), SHUT_RD); }
  // As much as the system takes at once.
  std::size_t fill() const {
    const std::string block(64 * 1024, 'x');
    std::size_t total = 0;
    for (ssize_t n = 0; (n = ::write(fd_.get(), block.data(), block.size())) > 0;)
      total += static_cast<std::size_t>(n);
    return total;
  }
  void reset() {
    const linger at_once{1, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    fd_.close();
  }
  void close() { fd_.close(); }
  // What has come by now, but no more than `most` bytes at once, and in the end how it ended.
  std::string read(std::size_t most = SIZE_MAX) {
    std::array<char, 64 * 1024> buffer{};
    ssize_t got = 0;
    while (most > 0 && (got = ::read(fd_.get(), buffer.data(), std::min(most, buffer.size()))) > 0) {
      text_.append(buffer.data(), static_cast<std::size_t>(got));
      most -= static_cast<std::size_t>(got);
    }
    if (most == 0 || (got < 0 && errno == EAGAIN)) return text_;
    return text_ + (got == 0 ? "<end>" : errno == ECONNRESET ? "<reset>" : "<error>");
  }

 private:
  OwnedFd fd_;
  std::string text_;
};

Listening listen_nonblocking(const std::string& address = "127.0.0.1") {
  Listening service = listen_tcp({*Endpoint::from_text(address, 0)});
  fcntl(service.sockets[0].get(), F_SETFL, O_NONBLOCK);
  return service;
}

// A loopback address that no other test has. The system remembers of an address how connections to it went, and those
// of other tests would decide how fast one to a service goes that reads slowly.
std::string unused_loopback() {
  static unsigned count = 0;
  const auto pid = static_cast<unsigned>(getpid());
  return "127." + std::to_string(1 + pid / 250 % 250) + "." + std::to_string(1 + pid % 250) + "." +
         std::to_string(1 + count++ % 250);
}

// A service whose queue of connections is full: a second one comes about once it has accepted the first.
class FullTarget {
 public:
  FullTarget() {
    listen(socket(), 0);
    first_ = Program::connect(*Endpoint::from_text("127.0.0.1", port()));
  }

  std::uint16_t port() const { return listening_.port; }
  // nullopt: it has not come yet.
  std::optional<Program> take_second() {
    const int fd = accept4(socket(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return std::nullopt;
    if (std::exchange(first_taken_, true)) return Program(fd);
    ::close(fd);
    return std::nullopt;
  }

 private:
  int socket() const { return listening_.sockets[0].get(); }

  Listening listening_ = listen_nonblocking();
  std::optional<Program> first_;
  bool first_taken_ = false;
};

// A near port that leads to a far service, through both drivers.
class ForwarderTest : public testing::Test {
 protected:
  explicit ForwarderTest(const SendingOptions& options = {}) : options_(options) {
    near_listener_ = listen_near(to_service());
  }

  Target to_service() const { return ToTcp{"localhost", service_.port}; }

  // Of 125 kB the system takes some 85 for it, and our first window the rest.
  void let_service_read_slowly() {
    const int little = 4096, small = 1000;
    const std::string address = unused_loopback();
    service_ = listen_nonblocking(address);
    setsockopt(service_.sockets[0].get(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    setsockopt(service_.sockets[0].get(), IPPROTO_TCP, TCP_MAXSEG, &small, sizeof small);
    near_listener_ = listen_near(ToTcp{address, service_.port});
  }

  // A service that reads slowly, and whose program was reset when it had sent so many bytes.
  Program after_a_reset(std::size_t size) {
    let_service_read_slowly();
    Program program = dial();
    Program service = taken();
    program.write(std::string(size, 'x'));
    pair_.until([&] { return pair_.client.streams().bytes_sent() == size; });
    program.reset();
    return service;
  }

  std::unique_ptr<Listener> listen_near(const Target& target) {
    Listening near = listen_tcp({*Endpoint::from_text("127.0.0.1", 0)});
    near_port_ = near.port;
    const Entrance& at = entrances_.emplace_back();
    return std::make_unique<Listener>(
        pair_.io, std::move(near.sockets[0]),
        [this, &at] { return ++asked_, may_accept_ && near_.may_accept(at); },
        [this, target, &at](std::shared_ptr<Descriptor> socket) {
          Forwarder::Hooks hooks;
          hooks.on_failed = [this](const Dialer::Outcome& outcome) {
            failures_.push_back(outcome.reason);
            return false;
          };
          near_.carry(at, std::move(socket), target, {}, std::move(hooks));
        });
  }

  Program dial() const { return Program::connect(*Endpoint::from_text("127.0.0.1", near_port_)); }
  // The far service's end of the newest connection.
  Program taken() {
    int fd = -1;
    EXPECT_TRUE(pair_.until(
        [&] { return (fd = accept4(service_.sockets[0].get(), nullptr, nullptr, SOCK_CLOEXEC)) >= 0; }));
    return Program(fd);
  }
  void expect_read(Program& program, const std::string& text) {
    EXPECT_TRUE(pair_.until([&] { return program.read() == text; })) << program.read();
  }
  // Whoever may not accept asks once in 50 ms, however long this takes.
  void expect_seldom_asked() {
    const int before = asked_;
    const Time began = now();
    for (int i = 0; i < 200; ++i) pair_.io.run_one_for(std::chrono::milliseconds(1));
    EXPECT_LE(asked_ - before, 1 + (now() - began) / milliseconds(50));
  }
  void expect_nothing_left() {
    EXPECT_TRUE(pair_.until([&] {
      return near_.count() == 0 && pair_.client.streams().count() == 2 && pair_.server.streams().count() == 2;
    }));
  }

  static SendingOptions with_memory(std::uint64_t bytes) {
    SendingOptions options;
    options.memory = bytes;
    return options;
  }

  const SendingOptions options_;
  std::list<Entrance> entrances_;
  Policy policy_;
  bool may_accept_ = true;
  int asked_ = 0;
  std::vector<ResetReason> failures_;
  Listening service_ = listen_nonblocking();
  std::uint16_t near_port_ = 0;
  DriverPair pair_{[this](const StreamNews& news) { near_.on_news(news); },
                   [this](const StreamNews& news) { far_->on_news(news); }, options_};
  Forwarder near_{pair_.client};
  std::unique_ptr<ServerForwarding> far_ = std::make_unique<ServerForwarding>(pair_.server, policy_, [] {});
  std::unique_ptr<Listener> near_listener_;
};

TEST_F(ForwarderTest, BytesAndEndsBothWays) {
  Program program = dial();
  program.write("question");
  Program service = taken();
  expect_read(service, "question");
  program.end();
  expect_read(service, "question<end>");
  service.write("answer");
  expect_read(program, "answer");
  service.end();
  expect_read(program, "answer<end>");
  expect_nothing_left();
  EXPECT_TRUE(failures_.empty());
}

TEST_F(ForwarderTest, TheFarEndMayEndFirst) {
  Program program = dial();
  Program service = taken();
  service.write("banner");
  service.end();
  expect_read(program, "banner<end>");
  program.write("late");
  program.end();
  expect_read(service, "late<end>");
  expect_nothing_left();
}

TEST_F(ForwarderTest, AResetIsAResetAtTheOtherEnd) {
  Program program = dial();
  Program service = taken();
  service.reset();
  expect_read(program, "<reset>");
  expect_nothing_left();
  Program second = dial();
  Program second_service = taken();
  second.reset();
  expect_read(second_service, "<reset>");
  expect_nothing_left();
}

// An HTTP server that refuses what it is sent answers and closes, and its system resets: a program without a forward in
// between reads the answer all the same.
TEST_F(ForwarderTest, TheLastAnswerOfAServiceThatReadsNoMoreArrives) {
  Program program = dial();
  program.write("question");
  Program service = taken();
  pair_.until([&] { return pair_.server.streams().bytes_taken() == 8; });
  const std::string answer(20'000, 'x');
  service.write(answer);
  service.close();
  EXPECT_TRUE(pair_.until([&] { return program.read() == answer + "<reset>"; })) << program.read().size();
  expect_nothing_left();
}

TEST_F(ForwarderTest, AServiceThatTakesNoMoreMayGoOnSpeaking) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "socket";
  service_ = listen_unix(path, {});
  fcntl(service_.sockets[0].get(), F_SETFL, O_NONBLOCK);
  near_listener_ = listen_near(ToUnix{path});
  Program program = dial();
  Program service = taken();
  service.read_no_more();
  program.write("question");
  expect_read(program, "");
  EXPECT_TRUE(pair_.until([&] { return pair_.client.streams().gave_up(kFirstClientStream); }));
  // It is not held up either.
  std::size_t taken_away = 0;
  EXPECT_TRUE(pair_.until([&] { return (taken_away += program.fill()) > 8'000'000; }));
  service.write("answer");
  expect_read(program, "answer");
  service.end();
  EXPECT_TRUE(pair_.until([&] { return program.read().starts_with("answer<"); })) << program.read();
  expect_nothing_left();
}

TEST_F(ForwarderTest, AResetFollowsTheLastByteOfASlowProgram) {
  Program program = dial();
  Program service = taken();
  std::size_t size = 0;
  for (int i = 0; i < 200; ++i) {
    size += service.fill();
    pair_.io.run_one_for(std::chrono::milliseconds(1));
  }
  service.reset();
  for (int i = 0; i < 200; ++i) pair_.io.run_one_for(std::chrono::milliseconds(1));
  // What the service's system still had is gone with it.
  EXPECT_TRUE(pair_.until([&] { return program.read().ends_with("<reset>"); }));
  EXPECT_GT(program.read().size(), size / 4);
  expect_nothing_left();
}

TEST_F(ForwarderTest, AResetDoesNotWaitForAServiceThatWritesAndReadsNothing) {
  let_service_read_slowly();
  Program program = dial();
  Program service = taken();
  program.write(std::string(125'000, 'x'));
  pair_.until([&] { return pair_.server.streams().memory_in_use() > 20'000; });
  program.reset();
  pair_.until([&] { return pair_.server.streams().was_broken_off(kFirstClientStream); });
  for (int i = 0; i < 400 && pair_.server.streams().count() > 2; ++i) {
    service.write("?");
    pair_.io.run_for(std::chrono::milliseconds(50));
  }
  expect_nothing_left();
  EXPECT_TRUE(pair_.until([&] { return service.read().ends_with("<reset>"); }));
}

constexpr std::size_t kWords = 125'000;

TEST_F(ForwarderTest, AResetFollowsTheLastByteToAServiceThatPauses) {
  Program service = after_a_reset(kWords);
  service.write("a last word");
  // Longer than one who goes on writing may read nothing.
  pair_.io.run_for(std::chrono::seconds(7));
  std::string read;
  EXPECT_TRUE(pair_.until([&] { return (read = service.read()).ends_with("<reset>"); }));
  EXPECT_EQ(read.size(), kWords + 7);
  expect_nothing_left();
}

TEST_F(ForwarderTest, AResetFollowsTheLastByteToAServiceThatReadsSlowly) {
  Program service = after_a_reset(kWords);
  // Longer than a service may take nothing.
  std::string read;
  for (int i = 0; i < 400 && !(read = service.read(2000)).ends_with(">"); ++i)
    pair_.io.run_for(std::chrono::milliseconds(50));
  EXPECT_EQ(read.size(), kWords + 7);
  EXPECT_TRUE(read.ends_with("x<reset>"));
  expect_nothing_left();
}

// ---- the client is gone ----

TEST_F(ForwarderTest, WhatWasSaidToItsEndStillGoesToASlowService) {
  let_service_read_slowly();
  Program program = dial();
  Program service = taken();
  const std::string words(125'000, 'x');
  program.write(words);
  program.end();
  pair_.until([&] { return pair_.server.streams().all_received(kFirstClientStream); });
  Program other = dial();
  Program other_service = taken();
  other.write("not to its end");
  expect_read(other_service, "not to its end");
  pair_.server.stop();
  bool done = false;
  far_->drain([&] { done = true; });
  expect_read(other_service, "not to its end<end>");
  EXPECT_FALSE(done);
  service.write("an answer that nobody wants");
  EXPECT_TRUE(pair_.until([&] { return service.read() == words + "<end>"; })) << service.read().size();
  EXPECT_TRUE(pair_.until([&] { return done; }));
}

TEST_F(ForwarderTest, WhatIsNotAwaitedAnyLongerEndsInAReset) {
  let_service_read_slowly();
  Program program = dial();
  Program service = taken();
  program.write(std::string(125'000, 'x'));
  program.end();
  pair_.until([&] { return pair_.server.streams().all_received(kFirstClientStream); });
  pair_.server.stop();
  far_->drain([] {});
  const std::uint64_t before = far_->taken();
  EXPECT_EQ(service.read(1), "x");
  EXPECT_TRUE(pair_.until([&] { return service.read(1000).size() > 5000 && far_->taken() != before; }));
  far_.reset();
  EXPECT_TRUE(pair_.until([&] { return service.read().ends_with("<reset>"); }));
}

TEST_F(ForwarderTest, NothingIsAwaitedWhereNothingIsLeft) {
  near_listener_ = listen_near(ToTcp{"no-such-host.invalid", 1});
  Program program = dial();
  pair_.until([&] { return pair_.server.streams().count() == 3; });
  pair_.server.stop();
  bool done = false;
  far_->drain([&] { done = true; });
  EXPECT_TRUE(done);
}

TEST_F(ForwarderTest, WhoWritesToAServiceThatIsGoneIsReset) {
  Program program = dial();
  Program service = taken();
  service.close();
  expect_read(program, "<end>");
  // The first byte draws the reset of the far host, the second one meets it.
  program.write("x");
  pair_.until([&] { return pair_.server.streams().bytes_taken() == 1; });
  program.write("y");
  expect_nothing_left();
}

TEST_F(ForwarderTest, RefusedForReasonsThatAreTold) {
  service_.sockets[0].close();
  Program refused = dial();
  expect_read(refused, "<end>");
  near_listener_ = listen_near(ToTcp{"no-such..host", 1});  // known to be none without asking a name server
  Program unknown = dial();
  expect_read(unknown, "<end>");
  near_listener_ = listen_near(ToUnix{"/no/such/socket"});
  Program no_socket = dial();
  expect_read(no_socket, "<end>");
  EXPECT_EQ(failures_,
            (std::vector{ResetReason::kRefused, ResetReason::kUnknownName, ResetReason::kRefused}));
  expect_nothing_left();
}

// To it nobody has read that: as under ssh.
TEST_F(ForwarderTest, WhoHasSentSomethingIsResetWhereTheTargetIsNotReached) {
  service_.sockets[0].close();
  Program program = dial();
  program.write("x");
  expect_read(program, "<reset>");
  expect_nothing_left();
}

TEST_F(ForwarderTest, OneThatGivesUpWhileItsTargetIsSoughtLeavesNothing) {
  near_listener_ = listen_near(ToTcp{"no-such-host.invalid", 1});
  Program program = dial();
  pair_.until([&] { return pair_.server.streams().count() == 3; });
  program.reset();
  expect_nothing_left();
}

TEST_F(ForwarderTest, OneThatGivesUpWhileItsTargetIsSilentLeavesNothing) {
  const FullTarget silent;
  near_listener_ = listen_near(ToTcp{"127.0.0.1", silent.port()});
  Program program = dial();
  program.write("x");
  pair_.until([&] { return pair_.server.streams().memory_in_use() > 0; });
  program.reset();
  expect_nothing_left();
  EXPECT_TRUE(failures_.empty());
}

// What was said while the server connects goes to the target once that has room.
class FullTargetTest : public ForwarderTest {
 protected:
  FullTargetTest() : ForwarderTest(with_memory(kMinMemory)) {
    // A machine that stands still for a while is not a target that does.
    far_ = std::make_unique<ServerForwarding>(
        pair_.server, policy_, [] {}, seconds(60));
    near_listener_ = listen_near(ToTcp{"127.0.0.1", target_.port()});
  }

  // A program whose words are with the server.
  Program said(const std::string& text) {
    Program program = dial();
    program.write(text);
    EXPECT_TRUE(pair_.until([&] { return pair_.server.streams().memory_in_use() > 0; }));
    return program;
  }
  Program reached() {
    std::optional<Program> service;
    EXPECT_TRUE(pair_.until([&] { return (service = target_.take_second()).has_value(); }));
    return service ? std::move(*service) : Program(-1);
  }

  FullTarget target_;
};

TEST_F(FullTargetTest, WhatWasSaidBeforeAReset) {
  Program program = said("said");
  program.reset();
  pair_.until([&] { return pair_.server.streams().gave_up(kFirstClientStream); });
  Program service = reached();
  expect_read(service, "said<reset>");
  expect_nothing_left();
}

TEST_F(FullTargetTest, WhatWasSaidToItsEndWhereTheClientIsGone) {
  Program program = said("said");
  program.end();
  pair_.until([&] { return pair_.server.streams().all_received(kFirstClientStream); });
  pair_.server.stop();
  bool done = false;
  far_->drain([&] { done = true; });
  Program service = reached();
  EXPECT_FALSE(done);
  service.write("an answer that nobody wants");
  expect_read(service, "said<end>");
  EXPECT_TRUE(pair_.until([&] { return done; }));
}

TEST_F(FullTargetTest, WhatWasSaidBeforeAResetWhereTheClientIsGone) {
  Program program = said("said");
  program.reset();
  pair_.until([&] { return pair_.server.streams().gave_up(kFirstClientStream); });
  pair_.server.stop();
  bool done = false;
  far_->drain([&] { done = true; });
  Program service = reached();
  expect_read(service, "said<reset>");
  EXPECT_TRUE(pair_.until([&] { return done; }));
}

TEST_F(FullTargetTest, WhatWasNotSaidToItsEndIsNotAwaitedWhereTheClientIsGone) {
  const Program program = said("said");
  pair_.server.stop();
  bool done = false;
  far_->drain([&] { done = true; });
  EXPECT_TRUE(done);
}

TEST_F(FullTargetTest, WhoeverWaitsForItLeavesAWayToOthers) {
  const std::size_t most = pair_.client.streams().count() + pair_.client.streams().room();
  std::vector<Program> waiting;
  while (waiting.size() < most) waiting.push_back(dial());
  EXPECT_TRUE(pair_.until([&] { return !near_.may_accept(entrances_.back()); }));
  const auto full = std::exchange(near_listener_, listen_near(to_service()));
  Program program = dial();
  program.write("question");
  Program service = taken();
  expect_read(service, "question");
  // Who reaches its target waits no longer.
  std::vector<Program> reached;
  while (reached.size() < pair_.client.streams().room()) {
    const Program& next = reached.emplace_back(dial());
    next.write("x");
    Program its_service = taken();
    expect_read(its_service, "x");
  }
}

TEST_F(ForwarderTest, WhileNoneMayBeAcceptedNobodySpins) {
  may_accept_ = false;
  Program program = dial();
  pair_.until([&] { return asked_ > 0; });
  expect_seldom_asked();
  may_accept_ = true;
  Program service = taken();
  program.write("x");
  expect_read(service, "x");
}

TEST_F(ForwarderTest, OutOfDescriptorsItWaitsToo) {
  Program program = dial();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t before = limit.rlim_cur;
  const int next = dup(0);
  ::close(next);
  limit.rlim_cur = static_cast<rlim_t>(next);
  setrlimit(RLIMIT_NOFILE, &limit);
  pair_.until([&] { return asked_ > 0; });
  expect_seldom_asked();
  limit.rlim_cur = before;
  setrlimit(RLIMIT_NOFILE, &limit);
  Program service = taken();
  program.write("x");
  expect_read(service, "x");
}

TEST(ForwardingOptions, SmallBytesDoNotWaitAndADeadPeerIsNoticed) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  set_forwarding_options(fd);
  int no_delay = 0, keep_alive = 0;
  socklen_t size = sizeof no_delay;
  getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &size);
  getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &keep_alive, &size);
  EXPECT_TRUE(no_delay != 0 && keep_alive != 0);
  ::close(fd);
}

struct Verdict {
  bool local, remote;
  const char* target;
  bool permitted;
};

TEST(PolicyTest, WhatMayBe) {
  for (const Verdict& verdict :
       {Verdict{true, true, "tcp 1 h", true}, Verdict{true, true, "listen-tcp 0 ", true},
        Verdict{false, true, "tcp 1 h", false}, Verdict{false, true, "unix /x", false},
        Verdict{false, true, "listen-unix /x", true}, Verdict{true, false, "listen-unix /x", false},
        Verdict{true, false, "listen-tcp 1 ", false}, Verdict{true, false, "unix /x", true},
        Verdict{true, true, "forwarded 2", false}}) {
    SCOPED_TRACE(verdict.target);
    EXPECT_EQ(permits({verdict.local, verdict.remote, GatewayPorts::kNo}, *parse_target(verdict.target)),
              verdict.permitted);
  }
}

TEST(PolicyTest, WhereToListenAsSshdDecidesIt) {
  const auto all = [](GatewayPorts gateway_ports) {
    std::string out;
    for (const char* asked : {"", "localhost", "127.0.0.1", "::1", "192.0.2.1"})
      out += listen_address(gateway_ports, asked) + " ";
    return out;
  };
  EXPECT_EQ(all(GatewayPorts::kNo), "localhost localhost 127.0.0.1 ::1 localhost ");
  EXPECT_EQ(all(GatewayPorts::kClientSpecified), " localhost 127.0.0.1 ::1 192.0.2.1 ");
  EXPECT_EQ(all(GatewayPorts::kYes), "     ");
}

TEST(ListenAddresses, WhatASpecificationNames) {
  const auto texts = [](const std::string& address, int family) {
    std::string out;
    for (const Endpoint& e : listen_addresses(address, 7, family, ListenNames::kDigitsOnly))
      out += e.to_string() + " ";
    return out;
  };
  EXPECT_EQ(texts("", AF_UNSPEC), "0.0.0.0:7 [::]:7 ");
  EXPECT_EQ(texts("localhost", AF_UNSPEC), "[::1]:7 127.0.0.1:7 ");
  EXPECT_EQ(texts("localhost", AF_INET), "127.0.0.1:7 ");
  EXPECT_EQ(texts("", AF_INET6), "[::]:7 ");
  EXPECT_EQ(texts("192.0.2.1", AF_UNSPEC), "192.0.2.1:7 ");
  EXPECT_EQ(texts("192.0.2.1", AF_INET6), "");
  EXPECT_EQ(texts("a-name", AF_UNSPEC), "");
}

TEST(ListenTcp, ThePortOfTheFirstIsThatOfTheOthers) {
  const Listening one =
      listen_tcp({*Endpoint::from_text("127.0.0.1", 0), *Endpoint::from_text("127.0.0.2", 0)});
  ASSERT_EQ(one.sockets.size(), 2u);
  EXPECT_NE(one.port, 0);
  const Listening two =
      listen_tcp({*Endpoint::from_text("127.0.0.3", one.port), *Endpoint::from_text("127.0.0.2", one.port)});
  EXPECT_EQ(two.sockets.size(), 1u);
  EXPECT_EQ(two.failure, "bind [127.0.0.2]:" + std::to_string(one.port) + ": Address already in use");
}

}  // namespace
}  // namespace mcdtp
