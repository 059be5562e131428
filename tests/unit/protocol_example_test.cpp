#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/core/exec_line.h"
#include "common/core/seal.h"
#include "common/core/session.h"
#include "common/core/wire.h"
#include "common/io/byte_pipe.h"

// The worked example of mcdtp-protocol(7), built with the code: every byte that stands on the page is
// compared. Each block of the example stands behind a comment: .\" example NAME
namespace mcdtp {
namespace {

using Buffer = std::vector<std::uint8_t>;
using Lines = std::vector<std::string>;

constexpr std::string_view kMark = ".\\\" example ";

Lines page_lines() {
  std::ifstream page(MCDTP_PROTOCOL_PAGE);
  Lines lines;
  for (std::string line; std::getline(page, line);) lines.push_back(line);
  return lines;
}

// The literal blocks by name, without their first and last line.
std::map<std::string, Lines> page_examples() {
  std::map<std::string, Lines> examples;
  Lines* block = nullptr;
  for (const std::string& line : page_lines()) {
    if (line.starts_with(kMark)) {
      block = &examples[line.substr(kMark.size())];
    } else if (line == ".Ed") {
      block = nullptr;
    } else if (block != nullptr && !line.starts_with(".Bd")) {
      block->push_back(line);
    }
  }
  return examples;
}

// Prose blocks: roff's escapes undone, the lines joined where one space was broken.
std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : " ") + line;
  for (const auto& [escape, plain] : std::map<std::string, std::string>{{"\\(aq", "'"}, {"\\e", "\\"}}) {
    for (auto at = text.find(escape); at != text.npos; at = text.find(escape, at + plain.size())) {
      text.replace(at, escape.size(), plain);
    }
  }
  return text;
}

// Byte blocks: two digits a byte; what follows two spaces explains.
std::string hex_of(const Lines& lines) {
  std::string hex;
  for (const std::string& line : lines) hex += line.substr(0, line.find("  "));
  std::erase(hex, ' ');
  return hex;
}

std::array<std::uint8_t, 32> example_secret() {
  std::array<std::uint8_t, 32> secret;
  std::iota(secret.begin(), secret.end(), std::uint8_t{0});
  return secret;
}

// A packet with room for its tag when it is to be sealed.
Buffer packet(const PacketHeader& header, std::size_t tag, const std::function<void(Writer&)>& fill) {
  Buffer frames(1200);
  Writer writer(frames);
  fill(writer);
  Buffer packet(kHeaderSize + writer.size() + tag);
  encode_header(header, packet);
  std::copy_n(frames.begin(), writer.size(), packet.begin() + kHeaderSize);
  return packet;
}

Buffer sealed(Buffer packet, Direction direction, ChannelId channel) {
  const SessionKeys keys(example_secret(), Cipher::kAes128Gcm);
  Sealer(keys, direction, channel).seal(packet);
  return packet;
}

// What stands on the SSH channel for a packet.
Buffer record(const Buffer& packet) {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  asio::io_context io;
  const auto near = std::make_shared<Descriptor>(io, ends[0]);
  BytePipe pipe(near, near);
  std::copy(packet.begin(), packet.end(), pipe.room().begin());
  pipe.finish(packet.size());
  EXPECT_EQ(pipe.flush(), BytePipe::Status::kOpen);
  Buffer bytes(BytePipe::kMaxRecord);
  const ssize_t got = read(ends[1], bytes.data(), bytes.size());
  close(ends[1]);
  bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return bytes;
}

std::unique_ptr<Session> new_session(Role role) {
  SessionConfig config;
  config.role = role;
  config.channels = 2;
  if (role == Role::kClient) config.ports = {46832, 50000};
  config.congestion = [] { return make_congestion("auto", std::nullopt); };
  auto session = std::make_unique<Session>(Time{}, std::move(config));
  session->add_stream_channel(Time{}, kSshChannel);
  return session;
}

// What the session says next on the SSH channel.
Buffer next_packet(Session& session) {
  Buffer room(Session::kMinPacketRoom);
  const auto out = session.poll_packet(Time{}, kSshChannel, room);
  if (!out) return {};
  return packet({out->flags, kSshChannel, out->number}, 0,
                [&](Writer& writer) { writer.bytes(Bytes(room).first(out->size)); });
}

Buffer exchange_packet() { return next_packet(*new_session(Role::kClient)); }

Buffer set_packet() {
  const auto server = new_session(Role::kServer);
  const Buffer exchange = exchange_packet();
  const PacketHeader header = decode_header(exchange).value();
  const Bytes frames = Bytes(exchange).subspan(kHeaderSize);
  EXPECT_TRUE(server->on_packet(Time{}, Time{}, kSshChannel, 0, header.number, header.flags, frames,
                                exchange.size()));
  return next_packet(*server);
}

Buffer data_packet() {
  return packet({kNothingLeft, 0, 3}, kTagSize, [](Writer& out) {
    const Bytes text = as_bytes("hello\n");
    const MutableBytes room = write_data(out, kStdio, 0, text.size());
    std::copy(text.begin(), text.end(), room.begin());
  });
}

// Numbers 0, 1 and 3 have come, 2 has not.
Buffer report_packet() {
  ReportFrame report;
  report.channel = 0;
  report.sequence = 2;
  report.delay = milliseconds(1);
  report.arrived = 1'000'000;
  report.received = 3;
  report.ranges = {{3, 4}, {0, 2}};
  return packet({0, 0, 1}, kTagSize, [&](Writer& out) { write_report(out, report, out.remaining()); });
}

Buffer without_tag(Buffer packet) {
  packet.resize(packet.size() - kTagSize);
  return packet;
}

std::map<std::string, std::string> expected_bytes() {
  const SessionKeys keys(example_secret(), Cipher::kAes128Gcm);
  const PacketKey key = keys.derive(Direction::kClientToServer, 0, 0);
  const PacketKey back = keys.derive(Direction::kServerToClient, 0, 0);
  return {
      {"exchange", to_hex(record(exchange_packet()))},
      {"set", to_hex(record(set_packet()))},
      {"key", to_hex(Bytes(key.key).first(16)) + to_hex(key.iv)},
      {"key-back", to_hex(Bytes(back.key).first(16)) + to_hex(back.iv)},
      {"data", to_hex(without_tag(data_packet()))},
      {"data-sealed", to_hex(sealed(data_packet(), Direction::kClientToServer, 0))},
      {"report", to_hex(without_tag(report_packet()))},
      {"report-sealed", to_hex(sealed(report_packet(), Direction::kServerToClient, 0))},
  };
}

Greeting example_greeting() {
  Greeting greeting;
  greeting.secret = example_secret();
  greeting.udp_ports = {60417, 60932};
  greeting.tcp_port = 60417;
  greeting.address = "192.0.2.7";
  return greeting;
}

std::map<std::string, std::string> expected_texts() {
  ExecRequest request;
  request.start_word = "7f3a09c1b2d84e5f60718293a4b5c6d7";
  request.channels = 2;
  request.memory_bytes = 256 << 20;
  request.environment = {{"LANG", "C.UTF-8"}};
  request.command = "wc -c";
  const std::string greeting = format_greeting(example_greeting());
  return {
      {"exec-line", build_exec_line(request).value_or("")},
      {"greeting", greeting.substr(1, greeting.size() - 2)},
  };
}

TEST(ProtocolExample, BytesOnThePageAreTheCodes) {
  const auto examples = page_examples();
  for (const auto& [name, hex] : expected_bytes()) {
    ASSERT_TRUE(examples.contains(name)) << name;
    EXPECT_EQ(hex_of(examples.at(name)), hex) << name;
  }
}

TEST(ProtocolExample, TextsOnThePageAreTheCodes) {
  const auto examples = page_examples();
  for (const auto& [name, text] : expected_texts()) {
    ASSERT_TRUE(examples.contains(name)) << name;
    EXPECT_EQ(text_of(examples.at(name)), text) << name;
  }
}

TEST(ProtocolExample, EveryExampleOnThePageIsChecked) {
  const auto bytes = expected_bytes();
  const auto texts = expected_texts();
  for (const auto& [name, lines] : page_examples()) {
    EXPECT_TRUE(bytes.contains(name) || texts.contains(name)) << name;
  }
}

}  // namespace
}  // namespace mcdtp
