#pragma once

#include <string>
#include <vector>

#include "client/child_process.h"
#include "client/options.h"

namespace mcdtp {

// The path of the real ssh: MCDTP_REAL_SSH, else the first `ssh` in PATH that is not this program under
// another name, nor one that only leads back to us. Throws a sentence where MCDTP_REAL_SSH is wrong.
std::optional<std::string> look_for_real_ssh();
// The same, where there has to be one: throws where there is none.
std::string find_real_ssh();

// Whether an ssh that mcdtp-shim started has called this one: a script of that name which goes on to us, or an
// ssh that calls ssh for a jump host. Our part is done above; here the real ssh has to run.
bool is_below_our_ssh();

// Whether it may ask something, on the terminal or by SSH_ASKPASS; also those may whom it starts, for a jump host.
enum class SshManner { kAttended, kUnattended };

// The real ssh with its words and environment, made before a fork and started after it.
class RealSsh {
 public:
  // `argv` begins with "ssh". Throws where there is no real ssh. `needs_shell`: it runs a LocalCommand, by $SHELL;
  // where that is a service's, which refuses whatever it is asked, /bin/sh takes its place.
  explicit RealSsh(std::vector<std::string> argv, bool needs_shell = false,
                   SshManner manner = SshManner::kAttended);
  RealSsh(const RealSsh&) = delete;
  RealSsh& operator=(const RealSsh&) = delete;

  const std::string& program() const { return program_; }
  // Async-signal-safe. Returns only where it fails, the errno.
  int become() const;

 private:
  std::string program_;
  std::vector<std::string> words_;
  std::vector<std::string> environment_;
  std::vector<char*> word_pointers_;
  std::vector<char*> environment_pointers_;
};

// Becomes the real ssh, called "ssh" with `words`. Throws where that fails.
[[noreturn]] void hand_over(const std::vector<std::string>& words);

// The command line, "ssh" included, that logs in and runs `exec_line` on the far host, or the subsystem that is the
// server, without terminal, forwardings or command of the configuration. ssh keeps the first value of an option, so ours
// come first. REQUIRES: options.action is kRun.
std::vector<std::string> bootstrap_argv(const Options& options, const std::string& exec_line);

// A running real ssh: our pipes are its stdin and stdout. Start it on the main thread.
class SshProcess : public ChildProcess {
 public:
  // Starts the real ssh with `argv`, argv[0] included. Throws where it cannot be started.
  explicit SshProcess(const std::vector<std::string>& argv, SshManner manner = SshManner::kAttended,
                      ChildStderr stderr_kind = ChildStderr::kOurs);

 private:
  struct Start;
  SshProcess(const Start& start, ChildStderr stderr_kind);
};

}  // namespace mcdtp
