#pragma once

#include <optional>
#include <string>

#include "client/child_process.h"
#include "client/libssh2_plan.h"

namespace mcdtp {

// The child's status where the far side runs nothing for this log-in.
inline constexpr int kSessionRefused = 254;

// A login by libssh2, in a child process that behaves as a running ssh does: its stdin and stdout are our
// pipes, the far command's stderr goes to its own, its exit status is the command's, or 255. Start it on the
// main thread, before other threads and before any asio object.
class Libssh2Process : public ChildProcess {
 public:
  // `quiet`: no sentence on stderr where the connection is lost later.
  Libssh2Process(const Libssh2Plan& plan, const std::string& exec_line, bool quiet,
                 ChildStderr stderr_kind = ChildStderr::kOurs);
  ~Libssh2Process() override;

  struct Login {
    bool authenticated = false;  // no: nothing has run on the far side; use ssh, which asks and explains
    bool unreachable = false;    // nor can ssh help: the sentence is said, and the process has ended with 255
    std::string text;            // yes: the far side's numeric address; no: the reason, in words for -v
  };
  // Waits for the outcome; once it is "authenticated" the exec line is on its way. May be called again.
  const Login& login();
  // REQUIRES: as above, and login() was called.
  bool has_said_why() override;

 private:
  struct Start;
  Libssh2Process(const Start& start, ChildStderr stderr_kind);
  std::string read_report() const;

  int outcome_fd_;
  std::optional<Login> login_;
};

}  // namespace mcdtp
