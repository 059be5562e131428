#include "common/core/wide_window.h"

#include <gtest/gtest.h>

namespace mcdtp {
namespace {

// A pipe that carries so many bytes/s with the one window and with the other, its reports a round trip apart.
class Pipe {
 public:
  Pipe(double narrow, double wide, Duration rtt = milliseconds(100))
      : narrow_(narrow), wide_(wide), rtt_(rtt) {}

  // How much of that time it was on.
  double run(Duration time) {
    Duration on{};
    for (const Time end = now_ + time; now_ < end; now_ += rtt_) {
      const double rate = window.is_on() ? wide_ : narrow_;
      if (window.is_on()) on += rtt_;
      window.on_report(now_, static_cast<std::uint64_t>(rate * to_seconds(rtt_)), limited, rtt_);
    }
    return to_seconds(on) / to_seconds(time);
  }
  void carries(double narrow, double wide) {
    narrow_ = narrow;
    wide_ = wide;
  }

  WideWindow window;
  bool limited = false;

 private:
  double narrow_, wide_;
  Duration rtt_;
  Time now_ = Time{} + seconds(1);
};

TEST(WideWindow, IsTriedEverMoreSeldomWhereItBringsNothing) {
  Pipe pipe(1e6, 1.2e6);
  EXPECT_LT(pipe.run(seconds(30)), 0.2);
  EXPECT_LT(pipe.run(seconds(300)), 0.03);
  EXPECT_GT(pipe.run(seconds(300)), 0) << "but the path may become another";
}

TEST(WideWindow, IsKeptWhereMoreArrives) {
  Pipe pipe(1e6, 1.5e6);
  pipe.run(seconds(3));
  EXPECT_GT(pipe.run(seconds(300)), 0.9);
}

// What is clear is not waited for.
TEST(WideWindow, IsFoundSoonWhereFarMoreArrives) {
  Pipe pipe(1e5, 4e6);
  pipe.run(milliseconds(1200));
  EXPECT_GT(pipe.run(seconds(20)), 0.9);
}

TEST(WideWindow, FollowsThePath) {
  Pipe pipe(1e6, 1e6);
  pipe.run(seconds(20));
  pipe.carries(1e6, 3e6);
  pipe.run(WideWindow::kLongestRest + seconds(5));
  EXPECT_GT(pipe.run(seconds(60)), 0.8);
  pipe.carries(3e6, 3e6);
  pipe.run(WideWindow::kLongestRest + seconds(5));
  EXPECT_LT(pipe.run(seconds(60)), 0.2);
}

// Who has little to send fills neither.
TEST(WideWindow, IsNotJudgedByWhatIsAllThereWas) {
  Pipe pipe(1e5, 4e6);
  pipe.limited = true;
  EXPECT_EQ(pipe.run(seconds(60)), 0);
  pipe.limited = false;
  pipe.run(milliseconds(1200));
  EXPECT_TRUE(pipe.window.is_on());
  pipe.limited = true;
  pipe.run(milliseconds(100));
  EXPECT_FALSE(pipe.window.is_on()) << "tried, and not known";
}

TEST(WideWindow, TakesLongerWhereRoundsDo) {
  Pipe pipe(1e6, 1.5e6, milliseconds(600));
  EXPECT_EQ(pipe.run(seconds(4)), 0);
  pipe.run(seconds(10));
  EXPECT_TRUE(pipe.window.is_on());
}

}  // namespace
}  // namespace mcdtp
