#include "client/forwarding.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/unit/driver_pair.h"

namespace mcdtp {
namespace {

// A client's forwarding, and a driver that plays the server.
class ForwardingTest : public testing::Test {
 protected:
  template <typename Condition>
  void until(Condition condition) {
    ASSERT_TRUE(pair_.until(condition));
  }

  // The client's answer to a stream that the server opens: why it was refused; unset as long as it was not.
  StreamId open_from_server(const std::string& target) {
    const StreamId stream = server_.streams().open(target);
    server_.kick();
    return stream;
  }
  ResetReason refusal(const std::string& target) {
    const StreamId stream = open_from_server(target);
    until([&] { return server_.streams().was_reset(stream); });
    return server_.streams().was_reset(stream) ? server_.streams().reset_reason(stream)
                                               : ResetReason::kGivenUp;
  }

  void answer(StreamId stream, const std::string& line) {
    write_stream(server_.streams(), stream, as_bytes(line));
    server_.kick();
  }

  void start(Forward::Kind kind) {
    Forward forward;
    forward.kind = kind;
    forward.listen.port = 7777;
    if (kind == Forward::Kind::kRemote) forward.connect = {"127.0.0.1", service_.port, {}};
    plan_.forwards = {forward};
    forwarding_.start();
    until([&] { return opened_.size() == 1; });
  }

  std::size_t connections() {
    std::size_t count = 0;
    while (true) {
      const int fd = accept4(service_.sockets[0].get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return count;
      ::close(fd);
      ++count;
    }
  }

  static Listening listen_nonblocking() {
    Listening service = listen_tcp({*Endpoint::from_text("127.0.0.1", 0)});
    const int fd = service.sockets[0].get();
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return service;
  }

  Listening service_ = listen_nonblocking();  // what the client can reach
  ForwardPlan plan_;
  std::vector<StreamNews> opened_;  // by the client
  std::vector<StreamNews> reached_;
  std::vector<std::string> said_;
  bool ready_ = false;
  bool failed_ = false;
  bool was_idle_ = false;  // when it was said that it may be
  DriverPair pair_{[this](const StreamNews& news) { forwarding_.on_news(news); },
                   [this](const StreamNews& news) {
                     if (news.kind == StreamNews::Kind::kOpened) opened_.push_back(news);
                     if (news.kind == StreamNews::Kind::kReached) reached_.push_back(news);
                   }};
  Driver& server_ = pair_.server;
  LocalPorts ports_{plan_, [this](const std::string& line) { said_.push_back(line); }};
  Forwarding forwarding_{
      pair_.client,
      ports_,
      {[this] { ready_ = true; }, [this] { failed_ = true; }, [this] { was_idle_ = forwarding_.is_idle(); },
       [this](const std::string& line) { said_.push_back(line); }, [](const std::string&) {}}};
};

TEST_F(ForwardingTest, HostileServerReachesNothingThatWasNotAskedFor) {
  start(Forward::Kind::kRemote);
  EXPECT_EQ(opened_[0].target, "listen-tcp 7777 localhost");
  answer(opened_[0].stream, "bound 7777\n");
  until([&] { return ready_; });
  const std::string service = std::to_string(service_.port);
  for (const std::string& target :
       {"tcp " + service + " 127.0.0.1", "listen-tcp 0 " + std::string(),
        "forwarded " + std::to_string(opened_[0].stream + 2), std::string("forwarded 1"), std::string(),
        std::string("unix /tmp"), std::string("listen-unix /tmp/x"), std::string("forwarded")}) {
    SCOPED_TRACE(target);
    EXPECT_EQ(refusal(target), ResetReason::kProhibited);
  }
  EXPECT_EQ(connections(), 0u);
  EXPECT_TRUE(forwarding_.is_idle());
  open_from_server("forwarded " + std::to_string(opened_[0].stream));
  until([&] { return reached_.size() == 1; });
  EXPECT_EQ(connections(), 1u);
}

TEST_F(ForwardingTest, AnswersOfTheServer) {
  start(Forward::Kind::kRemote);
  EXPECT_FALSE(ready_);
  EXPECT_FALSE(forwarding_.is_idle()) << "the command's end would hide the answer";
  answer(opened_[0].stream, "bou");
  answer(opened_[0].stream, "nd 7777\n");
  until([&] { return ready_; });
  EXPECT_TRUE(was_idle_);
  EXPECT_TRUE(said_.empty());
}

TEST_F(ForwardingTest, AnswerThatIsNone) {
  start(Forward::Kind::kRemote);
  answer(opened_[0].stream, std::string(ListenAnswer::kMaxSize + 1, 'x'));
  until([&] { return ready_; });
  EXPECT_EQ(said_, std::vector<std::string>{"Warning: remote port forwarding failed for listen port 7777"});
  EXPECT_FALSE(failed_);
}

TEST_F(ForwardingTest, FailureEndsTheRunWhereAskedTo) {
  plan_.exit_on_failure = true;
  start(Forward::Kind::kRemote);
  server_.streams().refuse(opened_[0].stream, ResetReason::kProhibited);
  server_.kick();
  until([&] { return failed_; });
  EXPECT_EQ(said_, std::vector<std::string>{"Error: remote port forwarding failed for listen port 7777"});
  EXPECT_FALSE(ready_);
}

// SOCKS from the far side: the answer is the first thing on the stream, whatever came with the question.
TEST_F(ForwardingTest, SocksOfTheFarSide) {
  start(Forward::Kind::kRemoteDynamic);
  const StreamId stream = open_from_server("forwarded " + std::to_string(opened_[0].stream));
  const auto high = static_cast<std::uint8_t>(service_.port >> 8);
  const auto low = static_cast<std::uint8_t>(service_.port & 255);
  const std::vector<std::uint8_t> question = {4, 1, high, low, 127, 0, 0, 1, 'u', 0, 'x'};
  write_stream(server_.streams(), stream, question);
  server_.kick();
  until([&] { return !server_.streams().readable(stream).empty(); });
  EXPECT_EQ(to_hex(server_.streams().readable(stream).first(2)), "005a");
  EXPECT_EQ(connections(), 1u);

  const StreamId nonsense = open_from_server("forwarded " + std::to_string(opened_[0].stream));
  write_stream(server_.streams(), nonsense, as_bytes("GET / HTTP/1.1\r\n"));
  server_.kick();
  until([&] { return server_.streams().read_to_end(nonsense); });
}

}  // namespace
}  // namespace mcdtp
