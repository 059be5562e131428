#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/core/channel.h"
#include "common/core/copies.h"
#include "common/core/flow.h"
#include "common/core/link_trial.h"
#include "common/core/lost_again.h"
#include "common/core/much_of_late.h"
#include "common/core/pacer.h"
#include "common/core/packet_header.h"
#include "common/core/packetizer.h"
#include "common/core/poor_datagrams.h"
#include "common/core/scheduler.h"
#include "common/core/streams.h"

namespace mcdtp {

struct SessionConfig {
  Role role = Role::kClient;
  std::uint64_t channels = 4;            // datagram channels wished (client) or bound (server), 1 to 64
  std::uint64_t memory = kUntoldMemory;  // bytes, at least kMinMemory; both ends take the smaller
  // Makes a controller: one for all datagram channels, or one for each.
  std::function<std::unique_ptr<CongestionController>()> congestion;
  Coupling coupling = Coupling::kCoupled;
  std::size_t max_datagram = PathMtu::kMost;  // bytes of UDP payload, at least PathMtu::kBase
  double max_stream_rate = Pacer::kUnpaced;   // bytes/s of records with data on stream channels, > 0
  bool datagrams = true;                      // false: no datagram channel will be added
  bool doubts_datagrams = false;              // none came through before: data do not wait for them
  std::vector<std::uint16_t> ports = {};      // of a client: what its datagram channels send from
  bool tries_links = false;                   // see LinkTrial
  bool links_go_by_ssh = false;               // what would be TCP connections are further SSH connections
};

// What the driver has to know, besides what happens to streams.
enum class SessionEventKind : std::uint8_t {
  kSet,  // both sides agreed: `value` datagram channels, those above are closed
  kPeerPort,  // to the server: nothing has come by UDP, and the client says that it sends on `channel` from port `value`
  kChannelProved,   // `channel` may carry data now
  kChannelDoubted,  // ... and not any more
  kUdpBlocked,      // no datagram channel was proved in time; probing goes on
  kLinkHelps,       // TCP connection `channel` carries data beside the datagrams, which carry much less
  kWaySought,       // there is something to send, and no way but SSH
  kUdpOneWay,       // a datagram channel was proved, by reports on other ways, but nothing has come on any
  kExit,            // the command ended with status `value`
  kPeerFault,       // the peer broke the protocol, see `text`; the session is over
};
struct SessionEvent {
  SessionEventKind kind;
  ChannelId channel = 0;
  std::uint64_t value = 0;
  std::string text;
};

// A packet without its header, tag and address. `size` bytes of frames were written.
struct OutgoingPacket {
  std::size_t size = 0;
  PacketNumber number = 0;
  std::uint8_t flags = 0;
  PathId path = 0;
  bool mtu_probe = false;  // larger than the others: no train can take it
};

struct SessionStatistics {
  std::uint64_t packets_sent = 0;
  std::uint64_t bytes_sent = 0;       // of datagrams and records
  std::uint64_t packets_lost = 0;     // declared lost
  std::uint64_t spurious_losses = 0;  // ... wrongly
  std::uint64_t bad_reports = 0;      // named a number never sent, or a channel not ours
  // Datagrams that the system here had no room for, on its way to us, and the peer's likewise, as its reports say.
  std::uint64_t kernel_drops = 0;
  std::uint64_t peer_kernel_drops = 0;
  std::size_t largest_sent = 0;      // datagram, in bytes; probes of the path MTU do not count
  std::size_t largest_received = 0;  // datagram, in bytes
};

// The protocol's state machine, the same on both ends. It sees opened packets, knows no sockets and no clock:
// `now` is handed in, and never goes back. The driver carries packets:
//   what came          -> on_packet()
//   time               -> on_timeout() once next_timeout() has passed; one too many does nothing
//   what is to be sent <- poll_packet() for each channel until none gives any
//   what happened      <- poll_event(), poll_stream_news()
class Session {
 public:
  // Before datagram channels are decided on, a stream channel holds no more than this unreported.
  static constexpr std::uint64_t kStreamChannelWindow = Channel::kMinStreamWindow;

  // REQUIRES: config.congestion.
  Session(Time now, SessionConfig config);

  // ---- channels ----
  // Each id once. `candidates`: far addresses to probe; none on the server, which learns them.
  void add_datagram_channel(Time now, ChannelId id, const std::vector<PathId>& candidates);
  void add_stream_channel(Time now, ChannelId id);
  // The connection is gone: what it carried and was not reported is sent elsewhere.
  void remove_channel(Time now, ChannelId id);
  // Its socket or pipe takes nothing now, or takes again.
  void set_blocked(ChannelId id, bool blocked);
  // `total`: of its socket, ever.
  void set_kernel_drops(ChannelId id, std::uint64_t total);

  // ---- packets ----
  // `arrived`: when the system here took it in, at most `now`. `size`: of the whole datagram or record. False: a duplicate,
  // dropped.
  bool on_packet(Time now, Time arrived, ChannelId channel, PathId from, PacketNumber number,
                 std::uint8_t flags, Bytes frames, std::size_t size);
  // The packet before came from the host that has logged in, see Paths.
  void on_validated(ChannelId channel, PathId path);
  // The client is expected to send from there, by its kPeerPort and the host that has logged in, see Paths.
  void on_expected(Time now, ChannelId channel, PathId path);
  void on_timeout(Time now);
  // `room`: for frames, at least kMinPacketRoom bytes; for a datagram channel packet_room().
  std::optional<OutgoingPacket> poll_packet(Time now, ChannelId channel, MutableBytes room);
  Time next_timeout() const;
  std::optional<SessionEvent> poll_event();
  std::optional<StreamNews> poll_stream_news();
  // The largest control frame, OPEN, has to fit beside what goes before it.
  static constexpr std::size_t kMinPacketRoom = kMaxTargetSize + 96;
  // Bytes of frames in the next datagram of this channel, at most: it may be a probe of the path MTU.
  std::size_t packet_room(ChannelId channel) const;
  // The channel has found use for larger datagrams and asks how large its interface would take them.
  bool wants_mtu_limit(ChannelId channel) const;
  // The way out of this channel takes datagrams of so many bytes of UDP payload. What was larger is lost.
  void set_mtu_limit(Time now, ChannelId channel, std::size_t bytes);
  // The system takes no datagram of so many bytes.
  void on_mtu_refused(Time now, ChannelId channel, std::size_t bytes);

  // ---- streams, see Streams ----
  Streams& streams() { return streams_; }
  const Streams& streams() const { return streams_; }
  // The command has ended. Server only.
  void send_exit(std::uint8_t status) { control_.push(ExitFrame{status}); }

  bool has_proved_datagram_channel() const { return proved_datagram_ > 0; }
  // So many TCP connections are of use: one, and as many as there were to be datagram channels where no way is found for
  // datagrams, or none comes. To the server, who makes none, as many also before that is known. By SSH as many as there were
  // to be channels with the first connection, and to the server some more.
  std::size_t wished_links() const;
  bool peer_failed() const { return peer_failed_; }
  // Nothing is left to say: the peer has reported all that we sent.
  bool all_reported() const;
  const SessionStatistics& statistics() const { return statistics_; }
  const Channel* channel(ChannelId id) const;
  // What may be outstanding on a stream channel, in bytes.
  std::uint64_t stream_window(const Channel& channel) const;
  template <typename Visitor>
  void for_each_channel(Visitor&& visit) const {
    for (const auto& [id, channel] : channels_) visit(channel);
  }

 private:
  // Packets that come on a stream channel while what is out on it is not reported: it has no probes that would end the
  // wait, and each may have an answer, which is kept behind what is out.
  static constexpr std::size_t kMaxUnreported = 256 * 1024;
  // Control frames of ours that wait, or whose packets are out. The peer makes some for each stream that it opens, and needs
  // them to be done with it: one that reports none would have us keep them for ever.
  static constexpr std::size_t kMaxControl = 128 * 1024;
  static constexpr std::uint64_t kControlBetweenCounts = 4096;
  // The least that is worth sending to an address, in bytes: report_timer() and choose_path() have to agree on it.
  static constexpr std::uint64_t kMinReply = kMinReportSize + kSealOverhead;

  Channel* find(ChannelId id);
  Channel* control_link();
  const Channel* control_link() const { return const_cast<Session*>(this)->control_link(); }
  bool is_control_link(const Channel& channel) const { return &channel == control_link(); }
  bool is_carrier(const Channel& channel) const;
  bool links_help() const;
  // They carry the data, and are lost no more often than they may be.
  bool datagrams_serve() const { return proved_datagram_ > 0 && !datagrams_.are_poor(); }
  bool is_tried(const Channel& channel) const;

  // receiving
  void on_frame(Time now, Time arrived, Channel& channel, const Frame& frame);
  void note_peer_drops(Channel& channel, std::uint64_t total);
  void on_report(Time now, Time arrived, const Channel& from, const ReportFrame& report);
  void on_floor(const FloorFrame& floor);
  void on_exchange(Time now, const ExchangeFrame& exchange);
  void on_set(Time now, const SetFrame& set);
  void agree_on_memory(std::uint64_t theirs);
  void accept(const std::optional<std::string>& fault);
  void count_control();
  void close_above(Time now, std::uint64_t count);

  // verdicts
  void cover_all(Time now, Channel& channel, const ReportNews& news, ReportSample& sample);
  void cover(Time now, Channel& channel, SentPacket& packet);
  void lose(Time now, Time known_at, Channel& channel, ReportSample& sample);
  void send_lost_again(Time now);
  void lose_all(Time now, Channel& channel);
  void lose_packet(Time now, Channel& channel, SentPacket& packet);
  bool requeue(SentPacket& packet);
  void requeue_data(const Cargo& cargo);
  void requeue_control(const Cargo& cargo);
  // nullptr: forgotten, or its channel is gone.
  SentPacket* find_packet(const PacketName& name);
  SentPacket* twin_of(const SentPacket& packet) { return packet.twin ? find_packet(*packet.twin) : nullptr; }
  void on_proved(Time now, Channel& channel);
  void on_link_proved(Time now, const Channel& link);
  void relieve_ssh(Time now);
  void on_datagram(Time now, Channel& channel, PathId from, std::size_t size, bool highest);
  void lead_others(Time now, std::optional<PathId> way);
  void tell_ports(const std::vector<std::uint16_t>& ports);
  bool learn_way(Channel& channel, std::optional<PathId> way);
  void doubt(Time now, Channel& channel);
  void take_rate(Channel& channel, const SentPacket& newest, ReportSample& sample);
  void feed_congestion(Time now, Channel& channel, ReportSample& sample);
  void note_rtt(Time now, Channel& channel, ReportSample& sample);
  void count_in_flight();
  void probe_timed_out(Time now, Channel& channel);
  void pass_over(Time now, Channel& link);
  void fall_silent(Time now, Channel& link);
  Time any_reported() const;
  void try_link(Time now, const Channel& reported, const ReportSample& sample);
  static std::optional<Duration> own_rtt(const Channel& channel, std::optional<Duration> rtt, bool both_send);
  Duration least_rtt() const;
  void keep_ssh_alive(Time now);
  bool has_only_ssh() const;
  Time ssh_stuck_at() const;
  Time seek_timer() const;
  void seek_ways(Time now);

  // before any datagram channel is proved: session_early.cpp
  bool is_early() const;
  bool may_begin_early() const;
  Time early_timer() const;
  void run_early(Time now);
  void begin_early(Time now);
  void end_early();
  bool may_carry_early(const Channel& channel) const;
  bool leaves_to_early() const;
  void withdraw_copied(Channel& channel);
  std::uint64_t early_outstanding() const;
  void requeue_all_but(const Channel& proved);
  void requeue_outstanding(Channel& channel);
  void lose_unheard(Time now, Channel& channel);

  // path MTU: session_mtu.cpp. The first two say whether the packet was a probe; then that is all there is to it.
  bool mtu_covered(Time now, Channel& channel, PacketNumber number, const SentPacket& packet);
  bool mtu_lost(Time now, Channel& channel, PacketNumber number, const SentPacket& packet);
  void leave_small_path(Time now, Channel& channel);
  void share_mtu(const Channel& found);
  std::size_t frames_room(const Channel& channel, bool has_load) const;
  std::optional<OutgoingPacket> poll_mtu_probe(Time now, Channel& channel, MutableBytes room);

  // sending
  struct Heading {
    PathId path = 0;
    std::size_t room = 0;  // bytes of frames that may go there, if there is that much
    bool probing = false;
  };
  std::optional<Heading> choose_path(Channel& channel);
  void fill_reports(Time now, Channel& channel, Packetizer& packet);
  void fill_data(Time now, Channel& channel, Packetizer& packet);
  void note_application_limited(Channel& channel);
  bool may_send_copy(Time now, Channel& channel);
  // The packet that this one is a copy of now, if any: `due`, or where that holds nothing any more another.
  std::optional<PacketName> fill_copy(Time now, Channel& channel, Packetizer& packet, const PacketName& due);
  bool has_nothing_new() const { return !streams_.has_data() && control_.empty(); }
  void pair_twins(SentPacket& copy, const PacketName& name, const PacketName& original);
  bool carries_control(const Channel& channel);
  bool may_send_data(Time now, Channel& channel, std::size_t room);
  bool stream_channel_may_send(Time now, Channel& channel, std::size_t room);
  bool is_in_flight(const Channel& channel) const;
  OutgoingPacket seal_off(Time now, Channel& channel, Packetizer& packet, PathId path,
                          const std::optional<PacketName>& copied);
  DeliverySnapshot count_against_flow(Time now, Channel& channel, std::uint64_t size, bool asks);
  void count_sent(Time now, Channel& channel, const Packetizer& packet, PathId path, std::uint64_t size);
  void decide_udp(Time now);
  void give_udp_up();
  Duration udp_patience() const;
  Time udp_deadline() const;
  void judge_silence();
  bool may_report(const Channel& channel) const;
  Time report_timer() const;
  Time data_timer() const;

  Role role_;
  std::uint64_t memory_;
  std::size_t max_datagram_;
  std::uint64_t wished_channels_;
  Channels channels_;
  ControlQueue control_;
  std::deque<SessionEvent> events_;
  std::deque<StreamNews> news_;
  Streams streams_;
  std::function<std::unique_ptr<CongestionController>()> make_congestion_;
  std::shared_ptr<Flow> common_flow_;  // of all datagram channels; none where each has its own
  Pacer stream_pacer_;                 // of the data on stream channels
  Scheduler scheduler_;
  Copies copies_{channels_};
  LostAgain lost_again_;
  std::size_t proved_datagram_ = 0;
  std::uint64_t sent_when_ssh_spoke_ = 0;  // bytes of all streams
  std::uint64_t control_counted_ = 0;      // when so many had been queued
  Time started_;
  Time reports_began_{};       // when a report was last due
  Time early_began_ = kNever;  // when data first went on a channel that is not proved
  bool early_is_over_ = false;
  bool had_data_ = false;        // to send, when last looked at
  Time sought_{};                // ways, for what stands on SSH
  bool udp_heard_ = false;       // something has come on a datagram channel
  bool udp_decided_ = false;     // data wait for it no more
  bool udp_judged_ = false;      // one is proved, or it was waited for long enough
  bool silence_judged_ = false;  // whether anything comes by UDP: once, a while after it was decided on
  bool exchange_seen_ = false;
  bool set_seen_ = false;
  bool exit_seen_ = false;
  bool peer_failed_ = false;
  MuchOfLate taken_of_late_;  // of the peer's data
  PoorDatagrams datagrams_;   // ours, on all channels
  bool tries_links_;
  bool links_go_by_ssh_;
  LinkTrial link_trial_;  // of the control link
  SessionStatistics statistics_;
};

}  // namespace mcdtp
