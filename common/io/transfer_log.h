#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/core/session.h"

namespace mcdtp {

// The small and the full log of a transfer, see mcdtp-shim(1): one line at its end, and a row of CSV for each
// channel every kInterval. Reads the session's statistics at these times alone, never per packet. Several
// transfers may append to one file at once: what belongs together is one write. A file that takes no more is
// said once and left.
class TransferLog {
 public:
  static constexpr Duration kInterval = milliseconds(100);

  // Unset: no such log. `say`: one line for the user. Throws std::runtime_error where a file cannot be opened.
  TransferLog(const std::optional<std::string>& summary_path, const std::optional<std::string>& series_path,
              std::function<void(const std::string&)> say);

  bool wants_samples() const { return series_ != nullptr; }
  void start(Time now, const std::string& host);
  void on_proved(ChannelId id) { proved_.insert(id); }
  void sample(Time now, const Session& session);
  // REQUIRES: start() was called.
  void finish(Time now, const Session& session, int status);

 private:
  class File {
   public:
    explicit File(std::string path);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    bool is_empty() const;
    // In one write. Why it failed, or nothing.
    std::optional<std::string> append(const std::string& text);
    const std::string& path() const { return path_; }

   private:
    void take_back(off_t size) const;

    std::string path_;
    int fd_;
  };

  void append(std::unique_ptr<File>& file, const std::string& text);
  void append_row(std::string& rows, Time now, const Session& session, const Channel& channel) const;

  std::function<void(const std::string&)> say_;
  std::unique_ptr<File> summary_;
  std::unique_ptr<File> series_;
  std::string host_;
  Time started_{};
  std::string started_at_;      // the wall clock's word for it, UTC
  std::set<ChannelId> proved_;  // channels that were proved at any time
};

// Samples the log, where it wants that, until it is gone.
class LogSampler {
 public:
  LogSampler(asio::io_context& io, TransferLog& log, const Session& session)
      : log_(log), session_(session), timer_(io) {}
  void start();

 private:
  TransferLog& log_;
  const Session& session_;
  asio::steady_timer timer_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace mcdtp
