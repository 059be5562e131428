#pragma once

#include <algorithm>
#include <deque>
#include <memory>

#include "common/core/capacity.h"
#include "common/core/flow.h"
#include "common/core/loss.h"
#include "common/core/of_late.h"
#include "common/core/path_mtu.h"
#include "common/core/paths.h"
#include "common/core/quick_variation.h"
#include "common/core/receipts.h"
#include "common/core/sent_packets.h"
#include "common/core/way_back.h"
#include "common/core/wide_window.h"

namespace mcdtp {

// What went over one channel, ever. Bytes of datagrams or records.
struct ChannelStatistics {
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_covered = 0;  // of them, by reports
  std::uint64_t bytes_received = 0;
  std::uint64_t packets_lost = 0;     // declared lost
  std::uint64_t spurious_losses = 0;  // ... wrongly
  // Datagrams that the peer's system had no room for, as its reports say.
  std::uint64_t peer_kernel_drops = 0;
};

// One way for packets, in both directions. A datagram channel may lose and reorder and has an address to
// prove; a stream channel (the SSH channel, a TCP connection) may not, but stalls, and ends.
class Channel {
 public:
  static constexpr Duration kFirstProbeInterval = milliseconds(100);
  static constexpr Duration kMaxProbeInterval = seconds(10);
  // A probe without answer is given up after this.
  static constexpr Duration kProbeLife = seconds(20);
  // Nor is one probed more often than this because its peer was heard of, or because a way is sought.
  static constexpr Duration kProbeWithReason = seconds(1);
  // An idle UDP channel says something this often: home routers forget a mapping after 30 s.
  static constexpr Duration kKeepalive = seconds(15);
  // Probe time-outs in a row after which a channel is no longer used until it proves itself again.
  static constexpr int kDoubtAfterProbes = 3;
  // A direct TCP connection of whose packets none is reported for so long is passed over; or, where others are heard of,
  // for four round trips, and the second at least.
  static constexpr Duration kLinkPatience = seconds(6);
  static constexpr Duration kLinkPatienceAmongOthers = seconds(1);
  // What a stream channel may hold unreported, in bytes.
  static constexpr std::uint64_t kMinStreamWindow = 64 * 1024;
  static constexpr std::uint64_t kMaxStreamWindow = 8 << 20;

  Channel(ChannelId id, bool datagram) : id_(id), datagram_(datagram), by_ssh_(id == kSshChannel) {}

  ChannelId id() const { return id_; }
  bool is_datagram() const { return datagram_; }
  // May carry data, and a packet is not waiting for its report for too long.
  bool steady() const { return proved() && loss.probes_unanswered() == 0; }
  // A report has covered a packet of ours (of full size and on the active path, for datagrams): it may carry data.
  bool proved() const { return datagram_ ? paths.active().has_value() : stream_proved_; }
  // A TCP connection that stands and carries nothing, until a report names what none has named.
  bool is_silent() const { return silent_; }
  bool is_tcp() const { return id_ >= kFirstTcpChannel; }
  // A connection among several, as all by TCP are, that has proved itself and answers.
  bool is_link() const { return (is_tcp() || among_links_) && proved() && !silent_; }
  void on_answer() { silent_ = false; }
  void on_silence() { silent_ = true; }
  // When a TCP connection is silent. `any_reported`: the latest last_reported() of all channels by UDP and TCP.
  Time silence_timer(Time any_reported) const;
  // When a report last covered what was outstanding.
  Time last_reported() const { return last_reported_; }
  // True: it was not proved before.
  bool on_covered(Time now, const SentPacket& packet);
  // A report covered what was outstanding; it came as a datagram, or by the control link.
  void on_reported(Time now, bool by_datagram) {
    last_reported_ = now;
    reports_by_link_ = by_datagram ? 0 : std::min(reports_by_link_ + 1, kReportsByLink);
    unreported_ = 0;
  }
  // See ReportNews::covered_span.
  void on_covered_span(Time now, Duration span);
  // A packet came. How many have since a report covered any of what is out.
  std::size_t count_unreported() {
    return unreported_ = sent.packets_outstanding() > 0 ? unreported_ + 1 : 0;
  }

  // Unproved addresses are probed again and again, ever more slowly.
  void probe_soon(Time now);
  // Time-outs that are this channel's own.
  // True: a probe time-out has passed, and the session has to probe.
  bool on_timeout(Time now);
  // When on_timeout() has something to do.
  Time next_timeout() const;
  // The address that the next packet is to probe, taken off the list.
  std::optional<PathId> take_probe();
  // Time runs for keep_alive() from now on.
  void begin(Time now) { last_sent_ = now; }
  // A stream channel goes by an SSH connection, and all others do.
  void go_among_ssh() { by_ssh_ = among_links_ = true; }
  // Says something where it has said nothing that asks for an answer for kKeepalive.
  void keep_alive(Time now) { ping_due_ = ping_due_ || last_sent_ + kKeepalive <= now; }
  // The peer was heard of: it may answer, where it did not before.
  void on_heard(Time now);
  // The next of these is now, unless it is proved.
  void hurry_probe(Time now);
  bool ping_due() const { return ping_due_; }
  void want_ping() { ping_due_ = true; }

  void on_sent(Time now, bool asks);
  // The addresses lose their proof, and everything outstanding is to be sent elsewhere.
  void doubt(Time now);

  // The sender's wish for reports of this channel: a quarter of its RTT, a sixteenth while the rate is being found,
  // within Receipts::kMinInterval and kMaxInterval; the least before an RTT is known, and for trains.
  Duration report_interval() const;
  // What a floor says of it: 0 while trains are sent, of which each is to be reported from its first packet on.
  Duration wished_interval() const;
  // A floor goes with data as often as reports come, and at once when the wish has changed by half.
  bool floor_due(Time now) const;
  void floor_sent(Time now);

  // Of a stream channel: its rate x (twice its smallest RTT, and what its reports wait, for their time and on their way back),
  // within the bounds above. So little of the queue is our own that the peer's, which holds up our reports, does not starve
  // us. Of a TCP connection its rate x four times (that RTT, and those waits): there the kernel takes no more than the path.
  // Where an SSH channel carries more with more of it out, see WideWindow, six of its RTTs.
  // `least_rtt`: the smallest of all channels that go the same way.
  std::uint64_t stream_window(Duration least_rtt) const;
  // Of a TCP connection beside datagrams: twice its smallest RTT, within the same bounds. A reader waits for what is out on it.
  std::uint64_t helping_window() const { return window_for(2 * loss.rtt().min()); }
  void on_stream_sample(const DeliveryRate::Sample& sample);
  // A report has covered so many bytes of a stream channel.
  void on_stream_report(Time now, std::uint64_t covered) {
    wide_.on_report(now, covered, stream_limited_, loss.rtt().smoothed());
  }

  Receipts receipts;
  SentPackets sent;
  LossDetector loss;
  WayBack way_back;
  QuickVariation quick_variation;
  Paths paths;
  PathMtu mtu;                 // of the active path
  std::shared_ptr<Flow> flow;  // of a datagram channel: what it is sent under, set as it is added
  Capacity capacity;           // of a datagram channel
  DeliveryRate delivery;       // of a stream channel
  ChannelStatistics statistics;
  bool blocked = false;  // its socket or pipe takes nothing now
  bool paused = false;   // a stream channel: by the pacer, when last asked

 private:
  // The peer's host stands still for so long, at most, of late.
  static constexpr Duration kStoodStillLife = seconds(10);
  static constexpr Duration kMostStoodStill = milliseconds(500);
  // A socket that takes nothing for so long may have lost its way.
  static constexpr Duration kUnsentPatience = seconds(1);
  // So many reports in a row by the control link: nothing comes on the channel. Fewer may have been the faster.
  static constexpr int kReportsByLink = 4;

  Time probe_timeout() const;
  Duration longest_report_delay() const;
  std::uint64_t window_for(Duration wait) const;

  void give_up_old_probes(Time now);

  ChannelId id_;
  bool datagram_;
  bool stream_proved_ = false;
  bool silent_ = false;
  double stream_rate_ = 0;      // bytes/s, the largest of late
  bool stream_limited_ = true;  // what was reported last was all there was to send
  bool by_ssh_;
  bool among_links_ = false;
  WideWindow wide_;             // where it goes by SSH
  int reports_by_link_ = 0;     // in a row
  std::size_t unreported_ = 0;  // see count_unreported()
  bool ping_due_ = false;
  Time asked_at_{};                                                   // at the last probe time-out
  LargestOfLate<Duration> stood_still_{kStoodStillLife, Duration{}};  // the peer's host
  std::deque<PathId> to_probe_;
  Time next_probe_ = kNever;
  Time hurried_where_heard_{};
  Duration probe_interval_ = kFirstProbeInterval;
  Time last_sent_{};
  Time last_reported_{};
  Time next_floor_{};
  Duration told_interval_{};  // the wish that the last floor spoke
};

}  // namespace mcdtp
