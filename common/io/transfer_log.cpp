#include "common/io/transfer_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <utility>

#include "common/io/descriptor.h"
#include "common/io/system.h"

namespace mcdtp {
namespace {

constexpr const char* kSeriesHead =
    "start,seconds,channel,sent_bytes,covered_bytes,lost_packets,spurious_packets,received_bytes,rtt_ms,"
    "rate_mbps,window_bytes,in_flight_bytes\n";

std::string utc_now() {
  const timespec t = time_of_day();
  tm utc{};
  gmtime_r(&t.tv_sec, &utc);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  char fraction[32];
  std::snprintf(fraction, sizeof fraction, ".%03ldZ", t.tv_nsec / 1'000'000);
  return std::string(text, size) + fraction;
}

std::string decimal(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

std::string milliseconds_of(Duration d) { return decimal(to_seconds(d) * 1e3); }

double mbps(std::uint64_t bytes, double passed) {
  return passed > 0 ? static_cast<double>(bytes) * 8 / passed / 1e6 : 0;
}

void field(std::string& line, const char* name, const std::string& value) {
  line += line.empty() ? "" : " ";
  line.append(name).append("=").append(value);
}

void field(std::string& line, const char* name, std::uint64_t value) {
  field(line, name, std::to_string(value));
}

// The channel with the shortest way; nullptr: none has been measured.
const Channel* nearest(const Session& session) {
  const Channel* best = nullptr;
  session.for_each_channel([&](const Channel& channel) {
    const RttEstimator& rtt = channel.loss.rtt();
    if (rtt.has_sample() && (best == nullptr || rtt.min() < best->loss.rtt().min())) best = &channel;
  });
  return best;
}

}  // namespace

// Not blocking: a pipe that nobody reads must not hold up the log-in.
TransferLog::File::File(std::string path)
    : path_(std::move(path)),
      fd_(open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666)) {
  if (fd_ < 0) throw std::runtime_error("opening the log " + path_ + ": " + std::strerror(errno));
}

TransferLog::File::~File() { close(fd_); }

bool TransferLog::File::is_empty() const {
  struct stat status {};
  return fstat(fd_, &status) == 0 && status.st_size == 0;
}

// Half a row would be glued to whatever comes next. What another transfer has appended since stays.
void TransferLog::File::take_back(off_t size) const {
  const off_t end = lseek(fd_, 0, SEEK_CUR);
  struct stat status {};
  if (end < size || fstat(fd_, &status) != 0 || status.st_size != end) return;
  static_cast<void>(ftruncate(fd_, end - size));
}

std::optional<std::string> TransferLog::File::append(const std::string& text) {
  const ssize_t n = write(fd_, text.data(), text.size());
  if (n == static_cast<ssize_t>(text.size())) return std::nullopt;
  if (n > 0) take_back(n);
  return n < 0 ? std::strerror(errno) : "no room for a whole line";
}

TransferLog::TransferLog(const std::optional<std::string>& summary_path,
                         const std::optional<std::string>& series_path,
                         std::function<void(const std::string&)> say)
    : say_(std::move(say)),
      summary_(summary_path ? std::make_unique<File>(*summary_path) : nullptr),
      series_(series_path ? std::make_unique<File>(*series_path) : nullptr) {
  if (series_ && series_->is_empty()) append(series_, kSeriesHead);
}

void TransferLog::append(std::unique_ptr<File>& file, const std::string& text) {
  const auto error = file ? file->append(text) : std::nullopt;
  if (!error) return;
  say_("writing the log " + file->path() + ": " + *error);
  file.reset();
}

void TransferLog::start(Time now, const std::string& host) {
  host_ = host;
  started_ = now;
  started_at_ = utc_now();
}

void TransferLog::append_row(std::string& rows, Time now, const Session& session,
                             const Channel& channel) const {
  const ChannelStatistics& counts = channel.statistics;
  rows += started_at_ + "," + decimal(to_seconds(now - started_)) + "," + std::to_string(channel.id());
  for (const std::uint64_t count : {counts.bytes_sent, counts.bytes_covered, counts.packets_lost,
                                    counts.spurious_losses, counts.bytes_received}) {
    rows += "," + std::to_string(count);
  }
  const RttEstimator& rtt = channel.loss.rtt();
  rows += "," + (rtt.has_sample() ? milliseconds_of(rtt.smoothed()) : "");
  const Flow* flow = channel.flow.get();
  const bool bounded = flow != nullptr && std::isfinite(flow->pacing_rate());
  rows += "," + (bounded ? decimal(flow->pacing_rate() * 8 / 1e6) : "");
  rows += "," + (bounded ? std::to_string(flow->window()) : "");
  rows += flow == nullptr ? std::to_string(session.stream_window(channel)) : "";
  rows += "," + std::to_string(channel.sent.bytes_outstanding()) + "\n";
}

void TransferLog::sample(Time now, const Session& session) {
  if (!series_) return;
  std::string rows;
  session.for_each_channel([&](const Channel& channel) { append_row(rows, now, session, channel); });
  append(series_, rows);
}

void TransferLog::finish(Time now, const Session& session, int status) {
  sample(now, session);
  const SessionStatistics& counts = session.statistics();
  const Streams& streams = session.streams();
  const double passed = to_seconds(now - started_);
  const Channel* channel = nearest(session);
  const auto datagram = [](ChannelId id) { return id < kMaxDatagramChannels; };
  std::string line;
  field(line, "start", started_at_);
  field(line, "end", utc_now());
  field(line, "host", host_);
  field(line, "status", static_cast<std::uint64_t>(status));
  field(line, "seconds", decimal(passed));
  field(line, "sent_bytes", streams.bytes_sent());
  field(line, "received_bytes", streams.bytes_taken());
  field(line, "sent_mbps", decimal(mbps(streams.bytes_sent(), passed)));
  field(line, "received_mbps", decimal(mbps(streams.bytes_taken(), passed)));
  field(line, "resent_bytes", streams.bytes_resent());
  field(line, "packets", counts.packets_sent);
  field(line, "packet_bytes", counts.bytes_sent);
  field(line, "lost", counts.packets_lost);
  field(line, "spurious", counts.spurious_losses);
  field(line, "no_room_here", counts.kernel_drops);
  field(line, "no_room_there", counts.peer_kernel_drops);
  field(line, "rtt_min_ms", channel != nullptr ? milliseconds_of(channel->loss.rtt().min()) : "-");
  field(line, "rtt_ms", channel != nullptr ? milliseconds_of(channel->loss.rtt().smoothed()) : "-");
  field(line, "udp_channels",
        static_cast<std::uint64_t>(std::count_if(proved_.begin(), proved_.end(), datagram)));
  append(summary_, line + "\n");
}

void LogSampler::start() {
  if (!log_.wants_samples()) return;
  timer_.expires_after(TransferLog::kInterval);
  // It may be on its way while this object ends.
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](std::error_code error) {
    if (error || alive.expired()) return;
    log_.sample(now(), session_);
    start();
  });
}

}  // namespace mcdtp
