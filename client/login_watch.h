#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "common/core/types.h"

namespace mcdtp {

// Watches for a far side that has let us in and then says nothing: a command that it forces on this key may
// wait for stdin, and would for ever, as we send nothing before the greeting. How long a log-in takes nobody
// can say, for it may ask the user; so the time counts from its end, which ssh tells: it runs a LocalCommand
// then, and that signals this process. Only what is spent waiting counts: while we are stopped, whoever logs in for us may
// be, too. REQUIRES: lives on the main thread, before other threads; one at a
// time; SIGUSR1 is not used otherwise.
class LoginWatch {
 public:
  // `patience`: from the log-in's end.
  explicit LoginWatch(Duration patience);
  LoginWatch(const LoginWatch&) = delete;
  LoginWatch& operator=(const LoginWatch&) = delete;
  ~LoginWatch();

  // Options of ssh that make it tell; to stand before all others.
  std::vector<std::string> ssh_words();
  // The log-in is done, as others than ssh know. Only the first call counts.
  void logged_in();
  // The far side runs what we asked for: from now on it may take its time.
  void heard() { heard_ = true; }
  // The far side says something: patience begins anew, but for four times its length at most.
  void something_came() { waited_ = {}; }
  // The far side was told that nobody waits any more: patience begins anew.
  void begin_anew();
  // Is it known to be done?
  bool is_logged_in();
  // Waits until `fd` can be read or has ended. False: patience is over.
  bool wait_readable(int fd);

 private:
  void take_signal();
  void end_by_signal();
  std::optional<Duration> remaining() const;
  void note_waited(Duration waited);

  Duration patience_;
  bool counts_ = false;  // the log-in is done
  Duration waited_{};    // since something came
  Duration waited_in_all_{};
  bool heard_ = false;
  bool ssh_tells_ = false;  // it was asked to, and has not yet
  int signal_fd_ = 0;
  sigset_t mask_before_{};
};

}  // namespace mcdtp
