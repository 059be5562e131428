// Any bytes as the beginning of a SOCKS connection: the verdict, the bytes taken and the bytes answered do not
// depend on how they were split, and what is asked for can be named.
#include <algorithm>
#include <string>
#include <vector>

#include "common/core/check.h"
#include "common/core/socks.h"

namespace {

using mcdtp::Bytes;
using mcdtp::SocksReply;
using mcdtp::SocksRequest;
using State = SocksRequest::State;

struct Outcome {
  State state = State::kMore;
  std::size_t used = 0;
  std::string host;
  std::uint16_t port = 0;
  std::vector<std::uint8_t> answer;
  bool operator==(const Outcome&) const = default;
};

void check_target(const SocksRequest& request) {
  const std::string& host = request.host();
  CHECK(request.port() != 0 && !host.empty() && host.size() <= SocksRequest::kMaxText);
  CHECK(std::none_of(host.begin(), host.end(), [](char c) { return c == 0 || c == '\n' || c == ' '; }));
  const auto reply = request.reply(SocksReply::kRefused);
  CHECK(reply.size() == (reply[0] == 5 ? 10u : 8u));
}

Outcome run(Bytes data, std::size_t piece) {
  SocksRequest request;
  Outcome outcome;
  while (outcome.used < data.size() && request.state() == State::kMore) {
    const std::size_t size = std::min(piece, data.size() - outcome.used);
    const std::size_t used = request.feed(data.subspan(outcome.used, size));
    CHECK(used == size || request.state() != State::kMore);
    outcome.used += used;
    const auto answer = request.take_answer();
    outcome.answer.insert(outcome.answer.end(), answer.begin(), answer.end());
  }
  outcome.state = request.state();
  CHECK(request.feed({}) == 0 && request.take_answer().empty());
  if (outcome.state != State::kTarget) return outcome;
  check_target(request);
  outcome.host = request.host();
  outcome.port = request.port();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes request(data + 1, size - 1);
  const Outcome whole = run(request, std::max<std::size_t>(request.size(), 1));
  CHECK(run(request, std::size_t{data[0]} % 16 + 1) == whole);
  CHECK(whole.used <= SocksRequest::kMaxRequest + 2 + 255 && whole.answer.size() <= 12);
  return 0;
}
