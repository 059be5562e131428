#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/options.h"

namespace mcdtp {

// Of what there is to say, how much is said: LogLevel of ssh_config(5), VERBOSE and more in one.
enum class LogLevel { kQuiet, kFatal, kError, kInfo, kVerbose };

// What is resolved for one host, as `ssh -G` prints it: a keyword in lower case and its value on each line.
// ssh has expanded all values but those of IdentityFile and CertificateFile; see expand_path().
class SshConfig {
 public:
  explicit SshConfig(std::string_view printed_by_ssh);

  // The first value of `keyword`, empty where there is none.
  std::string text(const std::string& keyword) const;
  // All values of a keyword that may stand on several lines.
  std::vector<std::string> lines(const std::string& keyword) const;
  // The first value, split at spaces.
  std::vector<std::string> words(const std::string& keyword) const;
  // The first value, split at commas.
  std::vector<std::string> list(const std::string& keyword) const;
  // A flag: is it set to something else than no, false, none or 0?
  bool is_on(const std::string& keyword) const;
  // A name, a path or a command: is there one? `no` and `false` are such, `none` is not.
  bool is_given(const std::string& keyword) const;

  std::string host_name() const { return text("hostname"); }
  std::string user() const { return text("user"); }
  // For a person: who, where.
  std::string account() const { return user() + "@" + host_name() + " port " + text("port"); }
  // The account, the keys, certificates and agent that are offered, and the way there, a line each: what tells one log-in
  // from another.
  std::string log_in() const;
  // Nothing where ssh printed no port.
  std::optional<std::uint16_t> port() const;
  AddressFamily address_family() const;
  // Seconds; unset: none.
  std::optional<unsigned> connect_timeout() const;
  // ServerAliveInterval in seconds and ServerAliveCountMax; 0 where they are not set.
  unsigned server_alive_interval() const;
  unsigned server_alive_count() const;
  LogLevel log_level() const;
  // ssh leaves a master connection in the background for those who come later (ControlPersist).
  bool makes_master() const;
  // The host's name in known_hosts files.
  std::string known_hosts_name() const;

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

// What stands for the % of a path of the configuration, and ${NAME}.
struct PathTokens {
  std::string home;           // %d and ~
  std::string host;           // %n: as on the command line
  std::string host_name;      // %h
  std::string host_key_name;  // %k
  std::string port;           // %p
  std::string remote_user;    // %r
  std::string local_user;     // %u
  std::string user_id;        // %i
  std::function<std::optional<std::string>(const std::string&)> environment;
};

// Nothing where the path asks for what only ssh can tell: %C, %L, %l, ~user, an unset variable.
std::optional<std::string> expand_path(std::string_view path, const PathTokens& tokens);

// What the real ssh has resolved for these options. Nothing where it refuses them; it is silent here, and
// says why when it is run to log in. Throws where there is no ssh.
std::optional<SshConfig> ask_ssh_for_config(const Options& options);

// Where no ssh can be asked: what `ssh -G` says at least, for a caller that wants to know whether we are one.
std::string least_config(const Options& options);

// What stands there: ssh's defaults for `user`, whose home is `home`, with user, port and address family as given.
SshConfig default_config(const Options& options, const std::string& user, const std::string& home);

}  // namespace mcdtp
