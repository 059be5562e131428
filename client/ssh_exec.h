#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "client/options.h"

namespace mcdtp {

// Opens /dev/null on each of 0, 1 and 2 that is closed, so that no pipe or socket of ours lands there. main()
// calls it first. Throws where /dev/null cannot be opened.
void ensure_standard_descriptors();

// The path of the real ssh: MCDTP_REAL_SSH, else the first `ssh` in PATH that is not this program under
// another name. Throws a sentence where there is none.
std::string find_real_ssh();

// Becomes the real ssh, called "ssh" with `words`. Throws where that fails.
[[noreturn]] void hand_over(const std::vector<std::string>& words);

// The command line, "ssh" included, that logs in and runs `exec_line` on the far host without terminal,
// forwardings or command of the configuration. ssh keeps the first value of an option, so ours come first.
// REQUIRES: options.action is kRun.
std::vector<std::string> bootstrap_argv(const Options& options, const std::string& exec_line);

// A running real ssh: our pipes are its stdin and stdout, its stderr is ours. It gets SIGTERM when the thread
// that started it ends, however that ends: start it on the main thread.
// REQUIRES: 0, 1 and 2 are open.
class SshProcess {
 public:
  // Starts the real ssh with `argv`, argv[0] included. Throws where it cannot be started.
  explicit SshProcess(const std::vector<std::string>& argv);
  SshProcess(const SshProcess&) = delete;
  SshProcess& operator=(const SshProcess&) = delete;
  // Closes the pipes; ends what still runs by SIGTERM, after two seconds by SIGKILL.
  ~SshProcess();

  // Our ends of its pipes, blocking and close-on-exec; this object closes them. REQUIRES: close_pipes() was
  // not called.
  int stdin_fd() const { return stdin_fd_.value(); }
  int stdout_fd() const { return stdout_fd_.value(); }
  pid_t pid() const { return pid_; }

  // Closes both pipes: the far side's end of file.
  void close_pipes();
  // Waits for its end. Returns its exit status, 255 when a signal ended it. May be called again.
  int wait();

 private:
  bool reap(int wait_options);

  std::optional<int> stdin_fd_;
  std::optional<int> stdout_fd_;
  pid_t pid_;
  std::optional<int> status_;
};

}  // namespace mcdtp
