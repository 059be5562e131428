#include "common/io/name_lookup.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <asio/executor_work_guard.hpp>

namespace mcdtp {
namespace {

template <typename Condition>
void run_until(asio::io_context& io, Condition condition) {
  // What the threads will say is no work of the loop's yet: without this it would not wait.
  const auto goes_on = asio::make_work_guard(io);
  for (int i = 0; i < 20'000 && !condition(); ++i) io.run_one_for(std::chrono::milliseconds(1));
}

TEST(NameLookup, WhoIsGoneIsNotAnsweredAndHoldsNobodyUp) {
  asio::io_context io;
  NameLookup names(io);
  int answers = 0;
  for (std::size_t i = 0; i < 10 * NameLookup::kMostWaiting; ++i)
    names.start("127.0.0.1", 7, AF_UNSPEC, std::weak_ptr<char>(), [&](const auto&) { ++answers; });
  const auto asker = std::make_shared<char>();
  std::vector<Endpoint> found;
  names.start("127.0.0.2", 7, AF_UNSPEC, asker,
              [&](const NameLookup::Answer& answer) { found = answer.addresses; });
  run_until(io, [&] { return !found.empty(); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].to_string(), "127.0.0.2:7");
  EXPECT_EQ(answers, 0);
}

TEST(NameLookup, NoSuchNameIsForGoodAndTooManyAtOnceForNow) {
  asio::io_context io;
  NameLookup names(io);
  const auto asker = std::make_shared<char>();
  constexpr std::size_t kMany = 3 * NameLookup::kMostWaiting;
  std::size_t unknown = 0, temporary = 0;
  for (std::size_t i = 0; i < kMany; ++i) {
    names.start("no-such..host", 7, AF_UNSPEC, asker, [&](const NameLookup::Answer& answer) {
      ASSERT_TRUE(answer.failure);
      ++(answer.failure->is_temporary() ? temporary : unknown);
    });
  }
  run_until(io, [&] { return unknown + temporary == kMany; });
  EXPECT_GE(unknown, NameLookup::kMostWaiting);
  EXPECT_GT(temporary, 0u);
}

TEST(NameLookup, EachIsAnsweredOnceHoweverManyThereAre) {
  asio::io_context io;
  NameLookup names(io);
  const auto asker = std::make_shared<char>();
  constexpr std::size_t kMany = 3 * NameLookup::kMostWaiting;
  std::vector<int> answers(kMany);
  std::size_t all = 0;
  for (std::size_t i = 0; i < kMany; ++i) {
    names.start("127.0.0.1", 7, AF_UNSPEC, asker, [&answers, &all, i](const auto&) {
      ++answers[i];
      ++all;
    });
  }
  run_until(io, [&] { return all == kMany; });
  EXPECT_EQ(answers, std::vector<int>(kMany, 1));
}

}  // namespace
}  // namespace mcdtp
