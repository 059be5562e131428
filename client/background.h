#pragma once

#include <map>

namespace mcdtp {

// -f: the log-in is asked for at the terminal, and then the run goes on without it. Two processes from the start: one
// that does all, and the one that was called, which waits until it may end, and passes on what the other says.
class Background {
 public:
  // Returns in the process that does all; the other one never does. That one ends with 0 after go(), else with the
  // first one's status. SIGINT, SIGQUIT and SIGHUP are ignored until the session begins, and by the ssh that logs in for
  // good: it stays in the process group of the terminal, where a Ctrl-C is meant for others then.
  // REQUIRES: there is no other thread. Throws where the system gives no pipe or process.
  Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // The terminal is free. `keeps_output`: stdout and stderr stay, for a command's; else nobody's pipe is held open.
  // Only the first call counts.
  void go(bool keeps_output);
  // Before exec: what the other program says needs nobody to pass it on, and the signals are as they were.
  void give_back();

 private:
  int stderr_;  // the caller's
  int to_parent_;
  bool gone_ = false;
  std::map<int, void (*)(int)> handlers_;  // as they were
};

}  // namespace mcdtp
