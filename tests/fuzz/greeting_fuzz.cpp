// Any bytes before and around the greeting: the finder's verdict does not depend on how they were split, no
// byte is lost, and a line that is taken is the very line that format_greeting() gives.
#include <algorithm>
#include <string>
#include <string_view>

#include "common/core/check.h"
#include "common/core/greeting.h"

namespace {

using mcdtp::Bytes;
using mcdtp::GreetingFinder;
using Result = GreetingFinder::Result;

std::string text_of(Bytes data) { return {data.begin(), data.end()}; }

// Feeds until a verdict, and returns how many bytes that took.
std::size_t feed_in_pieces(GreetingFinder& finder, Bytes data, std::size_t piece, Result& result) {
  std::size_t used = 0;
  for (result = Result::kMore; result == Result::kMore && used < data.size();) {
    const std::size_t size = std::min(piece, data.size() - used);
    result = finder.feed(data.subspan(used, size));
    used += size;
  }
  return used;
}

void check_line(const GreetingFinder& finder, Result result, std::string_view line) {
  CHECK(finder.greeting().has_value() == (result == Result::kGreeting));
  if (result == Result::kGreeting) CHECK(mcdtp::format_greeting(*finder.greeting()) == line);
  if (result == Result::kPlain) CHECK(line == mcdtp::plain_line());
  if (result == Result::kNoSubsystem) CHECK(line == mcdtp::no_subsystem_line());
  if (result == Result::kMore || result == Result::kNone) CHECK(line.empty());
}

// What comes before the start line is not looked at, and the line itself is in nothing that is told.
Result find_after_start(Bytes data, std::size_t piece, std::string& noise) {
  GreetingFinder finder;
  finder.await_start("w");
  Result result = Result::kMore;
  const std::size_t used = feed_in_pieces(finder, data, piece, result);
  noise = text_of(finder.noise());
  const std::string all = text_of(data.first(used)), start = mcdtp::start_line("w");
  const std::size_t begin = all.find(start);
  CHECK(finder.has_begun() || result == Result::kMore || result == Result::kNone);
  if (!finder.has_begun()) CHECK(noise == all);
  if (finder.has_begun()) CHECK(begin != all.npos && all.substr(0, begin) == noise.substr(0, begin));
  return result;
}

Result find(Bytes data, std::size_t piece, std::string& noise) {
  GreetingFinder finder;
  Result result = Result::kMore;
  const std::size_t used = feed_in_pieces(finder, data, piece, result);
  noise = text_of(finder.noise());
  const std::string all = text_of(data.first(used)), rest = text_of(finder.rest());
  CHECK(noise.size() + rest.size() <= used && all.starts_with(noise) && all.ends_with(rest));
  check_line(finder, result, std::string_view(all).substr(noise.size(), used - noise.size() - rest.size()));
  return result;
}

template <typename Find>
void check_splits(Bytes text, std::size_t piece, Find find_so) {
  std::string whole_noise, pieces_noise;
  const Result whole = find_so(text, std::max<std::size_t>(text.size(), 1), whole_noise);
  const Result pieces = find_so(text, piece, pieces_noise);
  CHECK(whole == pieces);
  // With kNone the noise is what was fed until then, which pieces make less of.
  CHECK(whole == Result::kNone ? whole_noise.starts_with(pieces_noise) : whole_noise == pieces_noise);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes text(data + 1, size - 1);
  const std::size_t piece = std::size_t{data[0]} + 1;
  check_splits(text, piece, find);
  check_splits(text, piece, find_after_start);
  return 0;
}
