#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "common/core/types.h"

namespace mcdtp {

// What a report changed, summed over all that a sender needs to judge a path. All sizes in bytes of
// datagrams.
struct ReportSample {
  Time now{};
  std::uint64_t covered = 0;         // newly covered
  std::uint64_t lost = 0;            // newly declared lost
  std::uint64_t found = 0;           // newly covered after it was declared lost: not in `covered`
  std::uint64_t quiet_covered = 0;   // of `covered`: sent while quiet()
  std::uint64_t quiet_lost = 0;      // of `lost`: sent while quiet()
  std::uint64_t quiet_found = 0;     // of `found`: sent while quiet()
  std::uint64_t in_flight = 0;       // after all of it
  std::uint64_t sent = 0;            // ever, until now
  std::uint64_t newest_covered = 0;  // `sent` up to the newest packet covered: ends a round; 0: none
  Time newest_sent_at{};             // of that packet
  Time newest_arrived_at{};          // ... by our clock, the report's way back included
  std::uint64_t newest_lost = 0;     // `sent` up to the newest packet declared lost: tells episodes; 0: none
  std::uint32_t train = 0;           // bytes sent at once, that packet the last of them
  double rate = 0;                   // bytes/s that the path took of late, lost or not; 0: no sample
  double rate_loss = 0;              // share of what `rate` counts that was lost, 0 to 1
  bool application_limited = false;  // the rate says less than the path could carry
  bool host_limited = false;    // likewise: the host stood still meanwhile, for longer than is made up for
  std::optional<Duration> rtt;  // a sample of the channel's RTT
  Duration covered_span{};   // longer than reports are apart where the peer's host stood still; 0: not known
  Duration rtt_variation{};  // of the channel: about RFC 9002's rttvar
  Duration smoothed_rtt{};   // of the channel
  Duration min_rtt{};        // likewise, ever
  Duration report_interval{};          // how long a receiver may hold a report
  Duration latest_by{};                // by so much the latest channel that carries some of the data is later
  std::uint64_t datagram_size = 1200;  // of the channel, of a full packet now
};

// Decides how fast and how much, for all datagram channels of a session or for one. Knows no packets.
class CongestionController {
 public:
  static constexpr Duration kShortestTrain = microseconds(100);  // what a timer can tell
  static constexpr Duration kLongestTrain = milliseconds(1);

  virtual ~CongestionController() = default;

  virtual void on_report(const ReportSample& sample) = 0;
  // The last of its channels is in doubt: nothing comes back for several probe time-outs, or only small packets come.
  virtual void on_silence(Time now) = 0;
  // Bytes/s of datagrams, > 0; infinity: not paced at all.
  virtual double pacing_rate() const = 0;
  // Bytes that may be in flight.
  virtual std::uint64_t window() const = 0;
  // Bytes let go at one wake-up, at least: a train of a quarter of the RTT, for the queues on a short path are short, but
  // of kLongestTrain at most.
  virtual double quantum(Duration rtt) const {
    return std::clamp(pacing_rate() * to_seconds(train_time(rtt)), 2400.0, 65536.0);
  }
  static Duration train_time(Duration rtt) { return std::clamp(rtt / 4, kShortestTrain, kLongestTrain); }
  // For how much of a time for which our host stood still what was due is sent at once, as far as a short queue on the path
  // can hold it.
  virtual Duration catch_up(Duration rtt) const { return usual_catch_up(rtt); }
  static Duration usual_catch_up(Duration rtt) { return std::min<Duration>(rtt / 4, milliseconds(25)); }
  // Less is sent now than the path is known to carry: what is lost of it, the path loses by itself.
  virtual bool quiet(Time) const { return false; }
  // The rate grows fast and is hardly known: reports are worth more than they cost.
  virtual bool is_starting() const { return false; }
  // Packets are sent in trains to see how the path draws them out: reports should be as dense as they can be.
  virtual bool sends_trains() const { return false; }
  // Data go out although nothing has come back yet, for the RTT is not short.
  virtual void on_early() {}
  // It is not to send trains: other controllers send on the same path at the same time, or the rate is not its own to
  // choose.
  virtual void forbid_trains() {}
};

// All names there are, the default first.
inline constexpr std::array<std::string_view, 5> kCongestionNames = {"auto", "fixed", "daimd", "none",
                                                                     "cubic"};

// How `fixed` spaces what it sends.
enum class Pacing : std::uint8_t {
  kTrains,  // trains of a quarter of the RTT, 0.1 to 1 ms, as all the others
  kEven,    // the smallest gaps
  kBurst,   // what is due of a longer interval at once
};
// `even` or `burst`; empty: kTrains; unset: no such name.
std::optional<Pacing> find_pacing(std::string_view name);

// One of kCongestionNames, `fixed` with a rate in bit/s of payload; nullptr: no such name, or no rate. `seed`: any,
// and another for each session.
std::unique_ptr<CongestionController> make_congestion(std::string_view name,
                                                      std::optional<std::uint64_t> rate_bps,
                                                      Pacing pacing = Pacing::kTrains,
                                                      std::uint64_t seed = 1);

inline constexpr std::uint64_t kInitialWindow = 64 * 1200;
inline constexpr std::uint64_t kMinWindow = 4 * 1200;
// What a pacing rate stays between, in bytes/s, whatever a window and an RTT make of it.
inline constexpr double kLowestRate = kMinWindow;
inline constexpr double kHighestRate = 1e11;

}  // namespace mcdtp
