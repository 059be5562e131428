// Any sequence of reports, silence and time on every congestion control by its name: a pace above 0, a window of
// kMinWindow at least, both finite (but for `none`, which has no bounds), and a pacer that keeps its word with
// them. The sums of a report need not fit each other.
#include <algorithm>
#include <cmath>

#include "common/core/check.h"
#include "common/core/congestion/congestion.h"
#include "common/core/pacer.h"
#include "tests/fuzz/session_pair.h"

namespace {

using namespace mcdtp;
using namespace mcdtp::fuzz;

constexpr double kMostRate = 2e12;  // bytes/s: `fixed` takes any rate up to 10^12 bit/s
constexpr std::uint64_t kMostWindow = std::uint64_t{1} << 61;
constexpr Duration kMostTime = Duration(std::int64_t{1} << 60);  // 36 years

class Run {
 public:
  explicit Run(Choices choices) : choices_(choices) {
    const std::string_view name = kCongestionNames[choices_.next() % kCongestionNames.size()];
    const std::uint64_t rate = std::clamp<std::uint64_t>(number(), 1, 1'000'000'000'000);
    unbounded_ = name == "none";
    congestion_ = make_congestion(name, rate, static_cast<Pacing>(choices_.next() % 3), choices_.next());
    CHECK(congestion_);
    check();
  }

  void run() {
    while (!choices_.empty()) {
      step();
      check();
    }
  }

 private:
  void step() {
    const std::uint8_t what = choices_.next();
    switch (what & 7) {
      case 0: return congestion_->on_silence(now_);
      case 1: return pass(Duration(static_cast<std::int64_t>(number() >> 4)));
      case 2: return pass(milliseconds(choices_.next()));
      default: return congestion_->on_report(sample());
    }
  }

  void pass(Duration time) { now_ = std::min(now_ + std::min(time, kMostTime), Time(kMostTime)); }

  // Of any size: one byte of digits, and how far they are shifted.
  std::uint64_t number() {
    const std::uint64_t digits = choices_.next();
    return digits << (choices_.next() % 56);
  }
  std::uint64_t number_if(std::uint8_t flags, int bit) { return (flags >> bit & 1) != 0 ? number() : 0; }
  Time before(Time time) {
    return time - std::min(time.time_since_epoch(), Duration(static_cast<std::int64_t>(number() >> 2)));
  }
  // A channel is doubted, and what it carried is given up, long before an hour.
  Duration round_trip() {
    return std::clamp<Duration>(Duration(static_cast<std::int64_t>(number() >> 1)), microseconds(1),
                                std::chrono::hours(1));
  }

  ReportSample sample() {
    const std::uint8_t which = choices_.next();
    const std::uint8_t rest = choices_.next();
    ReportSample sample;
    sample.now = now_;
    sample.covered = number_if(which, 0);
    sample.lost = number_if(which, 1);
    sample.found = number_if(which, 2);
    sample.quiet_covered = number_if(which, 3);
    sample.quiet_lost = number_if(which, 4);
    sample.quiet_found = number_if(which, 5);
    sample.in_flight = number_if(which, 6);
    // Mostly forwards, as it should be.
    sent_ = (which & 128) != 0 ? number() : sent_ + sample.covered + sample.lost;
    sample.sent = sent_;
    sample.newest_covered = (rest & 1) != 0 ? number() : sent_ / 2;
    sample.newest_arrived_at = (rest & 1) != 0 ? before(now_) : now_;
    sample.newest_sent_at = (rest & 1) != 0 ? before(sample.newest_arrived_at) : now_ - rtt_;
    sample.newest_lost = (rest & 2) != 0 ? number() : sample.lost > 0 ? sent_ : 0;
    sample.rate = (rest & 4) != 0 ? 1e3 * static_cast<double>(number()) : 0;
    sample.rate_loss = (rest & 4) != 0 ? choices_.next() / 255.0 : 0;
    sample.application_limited = (rest & 8) != 0;
    if ((rest & 16) != 0) rtt_ = round_trip();
    if ((rest & 32) != 0) {
      sample.rtt = round_trip();
      sample.rtt_variation = round_trip();
    }
    sample.smoothed_rtt = rtt_;
    sample.report_interval = milliseconds((rest & 64) != 0 ? choices_.next() : 25);
    sample.datagram_size = (rest & 128) != 0 ? 1200 + choices_.next() * 250 : 1200;
    return sample;
  }

  void check() {
    const double rate = congestion_->pacing_rate();
    CHECK(rate > 0);  // fails for NaN, too
    CHECK(unbounded_ ? std::isinf(rate) : rate <= kMostRate);
    CHECK(congestion_->window() >= kMinWindow);
    (void)congestion_->quiet(now_);
    CHECK(unbounded_ || congestion_->window() <= kMostWindow);
    CHECK(congestion_->quantum(milliseconds(100)) > 0 &&
          std::isfinite(congestion_->quantum(milliseconds(100))));
    check_pacer(rate);
  }

  // It lets something go, now or when it says.
  void check_pacer(double rate) {
    pacer_.set_rate(now_, rate);
    pacer_.set_quantum(congestion_->quantum(milliseconds(100)));
    for (int packets = 0; packets < 10 && pacer_.may_send(now_); ++packets) pacer_.on_sent(1200);
    if (pacer_.may_send(now_)) return;
    CHECK(pacer_.ready_at() > now_);
    Pacer later = pacer_;
    CHECK(later.may_send(pacer_.ready_at()));
  }

  Choices choices_;
  bool unbounded_ = false;
  std::unique_ptr<CongestionController> congestion_;
  Pacer pacer_;
  Time now_ = Time(seconds(1));
  Duration rtt_ = milliseconds(50);
  std::uint64_t sent_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  Run(Choices(Bytes(data, size))).run();
  return 0;
}
