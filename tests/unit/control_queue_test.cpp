#include "common/core/control_queue.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

std::size_t drain(ControlQueue& queue) {
  std::size_t count = 0;
  for (; !queue.empty(); queue.pop()) ++count;
  return count;
}

TEST(ControlQueue, NewerCreditTakesTheOldersPlace) {
  ControlQueue queue;
  queue.push(StreamCreditFrame{2, 10});
  queue.push(SessionCreditFrame{10});
  queue.push(StreamCreditFrame{4, 10});
  queue.push(StreamCreditFrame{2, 20});
  queue.push(SessionCreditFrame{30});
  EXPECT_EQ(std::get<StreamCreditFrame>(queue.front()), (StreamCreditFrame{2, 20}));
  queue.pop();
  EXPECT_EQ(std::get<SessionCreditFrame>(queue.front()), (SessionCreditFrame{30}));
  EXPECT_EQ(drain(queue), 2u);
}

TEST(ControlQueue, TheSameFrameStandsOnce) {
  ControlQueue queue;
  for (int i = 0; i < 3; ++i) {
    queue.push(FinFrame{2, 5});
    queue.push(ResetFrame{2, 5});
    queue.push(OpenFrame{2, "x"});
  }
  queue.push(FinFrame{4, 5});
  EXPECT_EQ(drain(queue), 4u);
}

TEST(ControlQueue, WhatWasTakenMayStandInItAgain) {
  ControlQueue queue;
  queue.push(StopFrame{2});
  queue.push(OpenFrame{4, "x"});
  queue.pop();
  queue.push(StopFrame{2});
  queue.push(OpenFrame{4, "y"});
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(queue.pushed(), 4u);
  EXPECT_EQ(std::get<OpenFrame>(queue.front()), (OpenFrame{4, "x"}));
  queue.pop();
  EXPECT_EQ(std::get<StopFrame>(queue.front()), StopFrame{2});
  EXPECT_EQ(drain(queue), 2u);
}

}  // namespace
}  // namespace mcdtp
