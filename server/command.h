#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/io/owned_fd.h"
#include "server/account.h"

namespace mcdtp {

struct CommandSpec {
  // Goes to the user's shell as one word. Unset: a login shell that reads its commands from stdin.
  std::optional<std::string> command;
  // `command` is the name of a subsystem.
  bool subsystem = false;
  // Added to the environment that we have, or instead of what it says.
  std::vector<std::pair<std::string, std::string>> environment;
  Account account;
};

// The program of a subsystem on this host. Only "sftp" is known, and only where its own program is installed:
// an sshd that has nothing but its internal-sftp can serve it itself alone.
std::optional<std::string> find_subsystem(std::string_view name);

// The user's command, run as sshd would run it without a terminal: by the user's shell, from the home
// directory, leader of a session of its own, its stdin, stdout and stderr three pipes.
//
// Its end, as OpenSSH 9.2 does it (tried, not read): the status is that of the command itself, known as soon
// as it is reaped; but output is carried on, and ssh does not return, until no process holds stdout or stderr
// any more (`ssh host 'sleep 9 &'` takes nine seconds, with either of the two redirected as well). The
// command's stdin is closed as soon as the command has ended, with what was not written yet, even where a
// background job reads it.
//
// Invariants:
// 1. Once reaped nobody is signalled any more: background jobs live on, as under ssh, and the number may be
//    another process group's by then.
// 2. The destructor closes the pipes that were not released and waits for nobody.
// 3. Where this process or this object ends otherwise than after try_reap(), the process group gets SIGHUP, unless the
//    command ends within a few seconds, as what sees its stdin end or its parent gone may: a small process that is
//    one of the group, and lives until then, sees to it.
class Command {
 public:
  // Starts it. Throws where there is no such subsystem and where the system gives no pipe or process; a shell
  // that cannot be run says so on its stderr and has status 1. From here on SIGCHLD is neither ignored nor
  // blocked in this process; one that came before its handler was there is lost, so call try_reap() once
  // then. REQUIRES: called on the main thread: the command gets SIGHUP when the thread that started it dies.
  explicit Command(const CommandSpec& spec);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // Our ends: non-blocking, closed on exec. Released ones are the caller's to close.
  OwnedFd& stdin_pipe() { return stdin_; }
  OwnedFd& stdout_pipe() { return stdout_; }
  OwnedFd& stderr_pipe() { return stderr_; }
  // Of the shell; also its process group.
  pid_t pid() const { return pid_; }

  // Has it ended, and how: 0 to 255, 255 for death by a signal, as the ssh client reports it. Never waits. To
  // be called upon SIGCHLD; once set it stays the same.
  std::optional<int> try_reap();
  // The client is gone: the pipes are closed, and invariant 3 holds from now on. A second call does nothing.
  void hang_up();

 private:
  std::optional<int> reap_command();
  void dismiss_guardian();

  OwnedFd stdin_;
  OwnedFd stdout_;
  OwnedFd stderr_;
  OwnedFd lifeline_;  // to the guardian: closed without a word it says that we are gone
  pid_t pid_ = 0;
  std::optional<int> status_;
};

// Becomes the command, with the stdin, stdout and stderr that we have. Throws where there is no such
// subsystem. REQUIRES: nothing waits in a stdio buffer.
[[noreturn]] void run_plain(const CommandSpec& spec);

}  // namespace mcdtp
