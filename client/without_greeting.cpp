#include "client/without_greeting.h"

#include <cstdint>

#include "client/libssh2_process.h"
#include "client/say.h"
#include "client/ssh_exec.h"
#include "common/io/system.h"

namespace mcdtp {
namespace {

constexpr int kFailed = 255;

// A shell says so of what it cannot run, a server of ours and ssh of what failed, our own line of whom nobody waits for
// any more: the far side is out of order or slow, which will not last.
bool could_not_run(int status, bool late) {
  return status == 126 || status == 127 || status == kFailed || (late && status == kNobodyWaits);
}

// It let libssh2 in, and then would run nothing: just then, or never.
bool refused_session(const Login& login, int status) {
  return !login.peer_address.empty() && status == kSessionRefused;
}

// For how long the far side is taken to run no command of ours. Who said no start line is another command than ours; who
// did not even end may be a slow host. Nothing: it may be out of order.
std::optional<std::int64_t> period_of_forced(const Login& login, bool ended, int status) {
  if (ended && !could_not_run(status, login.late))
    return refused_session(login, status) ? ForcedMemory::kUnsure : ForcedMemory::kSure;
  return login.result == GreetingFinder::Result::kNone ? std::optional(ForcedMemory::kUnsure) : std::nullopt;
}

void remember_forced(const Options& options, std::int64_t period, const ForcedMemory& memory) {
  const bool sure = period == ForcedMemory::kSure;
  if (memory.remember(seconds_since_1970(), period) || options.quiet || !sure) return;
  say(options.host + " runs a command of its own, each time twice, for that cannot be remembered in " +
      (memory.path().empty() ? "~/.cache" : memory.path()));
}

// A log-in that failed may have been one that wants to ask, or a jump host that is down: doubt is all that is left of it.
void judge_relay(Login& login, const RelayMemory& memory) {
  if (!login.done) return;
  login.ssh->close_pipes();
  const bool has_ended = !login.late && login.result == GreetingFinder::Result::kMore;
  const bool is_sure = has_ended ? login.ssh->wait() != kFailed : !login.late;
  memory.rule_out(seconds_since_1970(), is_sure ? RelayMemory::kSure : RelayMemory::kUnsure);
}

// The jump host carries none of ours. Nothing was asked and nothing said.
[[noreturn]] void leave_relay(const Options& options, Login& login, const RelayMemory& memory) {
  judge_relay(login, memory);
  login.ssh.reset();
  become_ssh(options, "the jump host runs no mcdtp-server of this version");
}

// The user has told of no place, and brings no server.
bool looks_in_usual_places(const Options& options) {
  return !options.server_path && !options.server_subsystem && !options.install;
}

// What we asked for has begun, and ended without saying that there is no server.
bool did_not_start(const Login& login) {
  return !login.late && login.result == GreetingFinder::Result::kMore && login.finder.has_begun();
}

// What a server is needed for.
std::string need_of(const Options& options) {
  return options.subsystem ? AbsentMemory::subsystem(options.command.value_or("")) : AbsentMemory::kForwards;
}

// Told once, and again as long as that cannot be remembered, or more is to be told.
void tell_absence(const Options& options, const AbsentMemory* memory, const std::string& need,
                  const std::string& line) {
  const std::int64_t now = seconds_since_1970();
  const bool was_said = memory != nullptr && memory->was_said(now, need);
  if (options.quiet || (was_said && options.verbose == 0)) return;
  const bool is_kept = was_said || (memory != nullptr && memory->remember(now, need, true));
  say(line + ": going on over plain ssh" + (is_kept ? " (not said again for a day)" : ""));
}

// Null where nothing is to be remembered of it.
const AbsentMemory* absent_memory(const Options& options, const std::optional<Remembered>& remembered) {
  return remembered && looks_in_usual_places(options) ? &remembered->absent : nullptr;
}

// There is no server, or one of another version, for what needs one: the real ssh does it.
void note_no_server(const Options& options, const std::optional<Remembered>& remembered) {
  const AbsentMemory* memory = absent_memory(options, remembered);
  const std::string need = need_of(options);
  if (memory != nullptr) memory->remember(seconds_since_1970(), need, false);
  tell_absence(options, memory, need, "no mcdtp-server for " + need + " on " + options.host);
}

// `ended`: with `status`, before a greeting came. Who has begun with our command is forced to no other.
void note_absence(const Options& options, const Login& login, bool ended, int status,
                  const std::optional<Remembered>& remembered) {
  if (login.result == GreetingFinder::Result::kNoSubsystem) return note_no_server(options, remembered);
  const bool failed = did_not_start(login);
  if (failed && !options.quiet)
    say("mcdtp-server on " + options.host + " did not start: going on over plain ssh");
  if (!failed && options.verbose > 0) say("the far side runs no command of ours: going on as plain ssh");
  if (!remembered || options.server_subsystem || login.finder.has_begun()) return;
  if (const auto period = period_of_forced(login, ended, status))
    remember_forced(options, *period, remembered->forced);
}

}  // namespace

void become_ssh(const Options& options, const std::string& reason) {
  if (options.verbose > 0) say("going on as ssh: " + reason);
  hand_over(options.words_for_hand_over);
}

void note_plain(const Options& options, const std::optional<Remembered>& remembered) {
  tell_absence(options, absent_memory(options, remembered), AbsentMemory::kCommands,
               "no mcdtp-server on " + options.host);
}

int without_greeting(const Options& options, Login& login, const std::optional<Remembered>& remembered,
                     Background* background) {
  if (options.relay && remembered) leave_relay(options, login, remembered->relay);
  const bool ended = login.result == GreetingFinder::Result::kMore;
  const bool silent = login.finder.noise().empty();
  login.ssh->close_pipes();
  const int status = ended ? login.ssh->wait() : 0;
  if (status == kFailed && !login.done && silent && !login.finder.has_begun()) {
    say_killed(login.ssh->killed_by());
    return kFailed;
  }
  note_absence(options, login, ended, status, remembered);
  login.ssh.reset();
  if (background != nullptr) background->give_back();
  hand_over(options.words_for_hand_over);
}

void leave_where_absent(const Options& options, const Remembered& remembered) {
  if (options.relay || options.shim_wanted || !looks_in_usual_places(options)) return;
  const std::string need = need_of(options);
  if (!remembered.absent.holds(seconds_since_1970(), need)) return;
  tell_absence(options, &remembered.absent, need,
               "no mcdtp-server for " + need + " on " + options.host + " of late, says " +
                   remembered.absent.path(need));
  hand_over(options.words_for_hand_over);
}

}  // namespace mcdtp
