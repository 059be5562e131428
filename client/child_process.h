#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/core/types.h"

namespace mcdtp {

// What a child says on its stderr goes to ours, or nowhere.
enum class ChildStderr { kOurs, kNone };

// A child process with pipes of ours as its 0 and 1. It gets SIGTERM when the thread that
// started it ends, however that ends: start it on the main thread. REQUIRES: 0, 1 and 2 are open.
class ChildProcess {
 public:
  // Runs `body` in the child with signals as at login, then ends it with the status that body returns.
  // REQUIRES: where other threads run, body makes async-signal-safe calls only. Throws where there is no
  // child.
  explicit ChildProcess(const std::function<int()>& body, ChildStderr stderr_kind = ChildStderr::kOurs);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // Closes the pipes; ends what still runs by SIGTERM, at once or as let_end() says, after two more seconds by SIGKILL.
  virtual ~ChildProcess();

  // Our ends of its pipes, blocking and close-on-exec; this object closes them. REQUIRES: close_pipes() was
  // not called.
  int stdin_fd() const { return stdin_fd_.value(); }
  int stdout_fd() const { return stdout_fd_.value(); }
  pid_t pid() const { return pid_; }

  // The same, the caller's to close from now on. REQUIRES: as above, and neither was taken before.
  int take_stdin() { return std::exchange(stdin_fd_, std::nullopt).value(); }
  int take_stdout() { return std::exchange(stdout_fd_, std::nullopt).value(); }

  // Its end of file, and no end of ours. REQUIRES: take_stdin() was not called.
  void close_stdin();
  // Closes both pipes: the child's end of file.
  void close_pipes();
  // Waits for its end. Returns its exit status, 255 when a signal ended it. May be called again.
  int wait();
  // The name of the signal that ended it, such as "Killed". Empty where it exited, where nobody can say, of those by which
  // a terminal or a caller ends all of a group, and where nobody read any more. REQUIRES: wait() was called.
  std::string killed_by() const;
  // Closes the pipes and sends SIGTERM; the destructor waits for what is left of two seconds.
  void ask_to_end();
  // Whether it has five seconds to end by itself once its pipes are closed.
  void let_end(bool may) { may_end_ = may; }
  // Never waits.
  bool has_ended() { return reap(WNOHANG); }
  // It has told the user why it ended. REQUIRES: it has.
  virtual bool has_said_why() { return false; }

 private:
  bool reap(int wait_options);
  bool ends_within(milliseconds patience);

  std::optional<int> stdin_fd_;
  std::optional<int> stdout_fd_;
  pid_t pid_;
  std::optional<int> status_;
  int ending_signal_ = 0;  // of it; 0: none
  bool may_end_ = false;
  std::optional<Time> asked_;  // to end
};

// Children are reaped by the kernel where SIGCHLD is ignored, as some callers leave it, and their status is lost: not
// from here on.
void keep_exit_statuses();

// Signals as at login: none blocked, SIGPIPE, SIGXFSZ and SIGUSR1 not ignored. All outlive exec. Async-signal-safe.
void restore_signals();

// /dev/null takes the place of what `fd` was, where it can be opened. Async-signal-safe. REQUIRES: 0, 1 and 2 are open.
void become_null(int fd, int flags);

struct Pipe {
  int read_end;
  int write_end;
};

// Close-on-exec. Throws where there is none.
Pipe make_pipe();

// What execv takes, which may write to it by its signature only. REQUIRES: `words` outlives it.
std::vector<char*> exec_pointers(std::vector<std::string>& words);

}  // namespace mcdtp
