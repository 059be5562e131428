#include "client/options.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mcdtp {
namespace {

using Words = std::vector<std::string>;

// What a run comes out as, written down the way a person would check it.
struct Expected {
  Words words;
  std::string destination;             // user@host:port, the parts that are known
  std::optional<std::string> command;  // unset: a login shell
  Words ssh_words;
};

std::string join(const Words& words) {
  std::string out;
  for (const auto& word : words) out += "[" + word + "]";
  return out;
}

std::string destination(const Options& options) {
  return (options.user ? *options.user + "@" : "") + options.host +
         (options.port ? ":" + std::to_string(*options.port) : "");
}

void expect_run(const Expected& run) {
  SCOPED_TRACE(join(run.words));
  const Options got = parse_options(run.words);
  EXPECT_EQ(got.action, Action::kRun) << got.message;
  EXPECT_EQ(destination(got), run.destination);
  EXPECT_EQ(got.command, run.command);
  EXPECT_EQ(join(got.ssh_words), join(run.ssh_words));
}

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// Each row of these is one caller of ssh, its arguments as it writes them.
TEST(Options, CalledByRsync) {
  const std::string rsync = "rsync --server -logDtpre.iLsfxCIvu . path";
  const Words rsync_words = {"rsync", "--server", "-logDtpre.iLsfxCIvu", ".", "path"};
  const std::vector<Expected> runs = {
      {Words{"-c", "8", "-l", "u", "host"} + rsync_words, "u@host", rsync, {"-l", "u"}},
      {Words{"u@host"} + rsync_words, "u@host", rsync, {"-l", "u"}},
      {{"-c8", "::1", "rsync", "--server", "--sender", "-e.i", ".", "/p\\ q"},
       "::1",
       "rsync --server --sender -e.i . /p\\ q",
       {}},
      {{"-l", "u", "host", "rsync", "--server", "--daemon", "."},
       "u@host",
       "rsync --server --daemon .",
       {"-l", "u"}},
      {{"-o", "ProxyCommand=nc %h %p", "-4", "host", "rsync"},
       "host",
       "rsync",
       {"-o", "ProxyCommand=nc %h %p", "-4"}},
  };
  for (const Expected& run : runs) expect_run(run);
}

TEST(Options, CalledByGit) {
  const std::vector<Expected> runs = {
      {{"-o", "SendEnv=GIT_PROTOCOL", "-4", "-p", "2222", "user@host", "git-upload-pack '/r.git'"},
       "user@host:2222",
       "git-upload-pack '/r.git'",
       {"-o", "SendEnv=GIT_PROTOCOL", "-4", "-p", "2222", "-l", "user"}},
      {{"user@host", "git-receive-pack 'r.git'"}, "user@host", "git-receive-pack 'r.git'", {"-l", "user"}},
      {{"-oControlMaster=auto", "-oControlPath=/x", "-p", "22", "--", "user@host",
        "git-lfs-authenticate path op"},
       "user@host:22",
       "git-lfs-authenticate path op",
       {"-oControlMaster=auto", "-oControlPath=/x", "-p", "22", "-l", "user"}},
  };
  for (const Expected& run : runs) expect_run(run);
}

TEST(Options, CalledByScpSftpAndSshfs) {
  const Words scp = {"-x",
                     "-oPermitLocalCommand=no",
                     "-oClearAllForwardings=yes",
                     "-oRemoteCommand=none",
                     "-oRequestTTY=no",
                     "-oForwardAgent=no"};
  const Words sftp = {"-oForwardX11 no", "-oPermitLocalCommand no", "-oClearAllForwardings yes",
                      "-obatchmode yes", "-oForwardAgent no",       "-oPort 22"};
  const std::vector<Expected> runs = {
      {scp + Words{"-l", "user", "-s", "--", "host", "sftp"}, "user@host", "sftp", scp + Words{"-l", "user"}},
      {scp + Words{"-oControlMaster=no", "-s", "--", "host", "sftp"}, "host", "sftp",
       scp + Words{"-oControlMaster=no"}},
      {scp + Words{"-C", "-q", "-v", "-4",  "-6", "-c", "aes128-ctr", "-F",   "f",  "-i",   "k",
                   "-J", "j",  "-o", "X=Y", "-p", "23", "-l",         "user", "--", "host", "scp -t /p q"},
       "user@host:23", "scp -t /p q",
       scp + Words{"-C", "-q", "-v", "-4", "-6", "-c", "aes128-ctr", "-F", "f", "-i", "k", "-J", "j", "-o",
                   "X=Y", "-p", "23", "-l", "user"}},
      {{"-x", "-oClearAllForwardings=yes", "-n", "-l", "user", "--", "host", "scp", "/p", "other:/p"},
       "user@host",
       "scp /p other:/p",
       {"-x", "-oClearAllForwardings=yes", "-l", "user"}},
      {sftp + Words{"-l", "user", "-s", "--", "host", "sftp"}, "user@host:22", "sftp",
       sftp + Words{"-l", "user"}},
      {sftp + Words{"--", "host", "/usr/lib/sftp-server"}, "host:22", "/usr/lib/sftp-server", sftp},
      {{"-x", "-a", "-oClearAllForwardings=yes", "-2", "user@host", "-s", "sftp"},
       "user@host",
       "sftp",
       {"-x", "-a", "-oClearAllForwardings=yes", "-2", "-l", "user"}},
  };
  for (const Expected& run : runs) expect_run(run);
}

TEST(Options, CalledByOthers) {
  const Words ansible = {"-C",
                         "-o",
                         "ControlMaster=auto",
                         "-o",
                         "ControlPersist=60s",
                         "-o",
                         "KbdInteractiveAuthentication=no",
                         "-o",
                         "PreferredAuthentications=publickey",
                         "-o",
                         "PasswordAuthentication=no",
                         "-o",
                         "User=\"u\"",
                         "-o",
                         "ConnectTimeout=10",
                         "-o",
                         "ControlPath=\"/x/%C\""};
  const std::vector<Expected> runs = {
      {ansible + Words{"host", "/bin/sh -c 'echo ~'"}, "u@host", "/bin/sh -c 'echo ~'", ansible},
      {{"-p", "23", "a@host", "borg", "serve", "--umask=077"},
       "a@host:23",
       "borg serve --umask=077",
       {"-p", "23", "-l", "a"}},
      {{"host", "-p", "23", "-l", "a", "-s", "sftp"}, "a@host:23", "sftp", {"-p", "23", "-l", "a"}},
      {{"-C", "host", "rdiff-backup", "server"}, "host", "rdiff-backup server", {"-C"}},
      {{"-l", "a", "-p", "23", "host", "-e", "none", "unison", "-server", "x"},
       "a@host:23",
       "unison -server x",
       {"-l", "a", "-p", "23", "-e", "none"}},
      {{"host", "-p", "23", "hg -R path serve --stdio"}, "host:23", "hg -R path serve --stdio", {"-p", "23"}},
      {{"-q", "--", "user@host", "svnserve", "-t"}, "user@host", "svnserve -t", {"-q", "-l", "user"}},
      {{"-o ConnectTimeout=30", "-T", "-l", "u", "-p", "23", "--", "host", "docker", "system", "dial-stdio"},
       "u@host:23",
       "docker system dial-stdio",
       {"-o ConnectTimeout=30", "-T", "-l", "u", "-p", "23"}},
      {{"-oConnectTimeout=5", "-oServerAliveInterval=10", "-oServerAliveCountMax=1", "u@host", "CMD"},
       "u@host",
       "CMD",
       {"-oConnectTimeout=5", "-oServerAliveInterval=10", "-oServerAliveCountMax=1", "-l", "u"}},
      {{"-S", "sock", "host", "echo -n"}, "host", "echo -n", {"-S", "sock"}},
      {{"host", "--", "exec", "-x"}, "host", "exec -x", {}},
  };
  for (const Expected& run : runs) expect_run(run);
}

TEST(Options, ParsesAsGetopt) {
  const std::vector<Expected> runs = {
      {{"host"}, "host", std::nullopt, {}},
      {{"host", ""}, "host", std::nullopt, {}},
      {{"host", "", "a"}, "host", " a", {}},
      {{"host", "a  b", "c"}, "host", "a  b c", {}},
      {{"-xaT", "host", "id"}, "host", "id", {"-xaT"}},
      {{"-xp2222", "host", "id"}, "host:2222", "id", {"-xp2222"}},
      {{"-xp", "2222", "host", "id"}, "host:2222", "id", {"-xp", "2222"}},
      {{"host", "-q", "id", "-v"}, "host", "id -v", {"-q"}},
      {{"--", "host", "-q", "id"}, "host", "-q id", {}},
      {{"-q", "host", "-4", "--", "-l", "x"}, "host", "-l x", {"-q", "-4"}},
      // ssh only looks whether the word before the host is "--"
      {{"-i", "--", "host", "-q", "id"}, "host", "-q id", {"-i", "--"}},
      // the last @ ends the user; the first value of user and port stays
      {{"a@b@host", "id"}, "a@b@host", "id", {"-l", "a@b"}},
      {{"-l", "a", "b@host", "id"}, "a@host", "id", {"-l", "a", "-l", "b"}},
      {{"b@host", "-l", "a", "id"}, "b@host", "id", {"-l", "b", "-l", "a"}},
      {{"-oUser=c", "-l", "a", "host", "id"}, "c@host", "id", {"-oUser=c", "-l", "a"}},
      {{"-p", "1", "-oPort=2", "ssh://host:3", "id"}, "host:1", "id", {"-p", "1", "-oPort=2", "-p", "3"}},
      {{"ssh://host:3", "-p", "1", "id"}, "host:3", "id", {"-p", "3", "-p", "1"}},
      {{"ssh://u%40v;x=y@host.:3/", "id"}, "u@v@host:3", "id", {"-l", "u@v", "-p", "3"}},
      {{"-p", "ssh", "-p", "7", "host", "id"}, "host", "id", {"-p", "ssh", "-p", "7"}},
      {{"-oPort==7", "host", "id"}, "host", "id", {"-oPort==7"}},
      // every spelling of -o
      {{"-o", " Port = \"7\" ", "host", "id"}, "host:7", "id", {"-o", " Port = \"7\" "}},
      {{"-oport\t7", "host", "id"}, "host:7", "id", {"-oport\t7"}},
      {{"-o\"Port\" 7", "host", "id"}, "host:7", "id", {"-o\"Port\" 7"}},
      {{"-oUser='a b' # me", "host", "id"}, "a b@host", "id", {"-oUser='a b' # me"}},
      {{"-oUser=a\\ b\\\"", "host", "id"}, "a b\"@host", "id", {"-oUser=a\\ b\\\""}},
      {{"-o#Port 7", "-oPort", "-oPort \"7", "host", "id"},
       "host",
       "id",
       {"-o#Port 7", "-oPort", "-oPort \"7"}},
  };
  for (const Expected& run : runs) expect_run(run);
}

// Forwards are ssh's to resolve, and the bootstrap ssh's to drop; -W, -N and -f it must not see.
TEST(Options, Forwards) {
  const std::vector<Expected> runs = {
      {{"-L", "1:h:2", "host", "id"}, "host", "id", {"-L", "1:h:2"}},
      {{"-R1:h:2", "host", "id"}, "host", "id", {"-R1:h:2"}},
      {{"-D1", "-g", "host"}, "host", std::nullopt, {"-D1", "-g"}},
      {{"-T", "-D", "1", "-o", "ConnectTimeout=15", "host", "bash"},
       "host",
       "bash",
       {"-T", "-D", "1", "-o", "ConnectTimeout=15"}},
      {{"-oLocalForward=1 h:2", "-oRemoteForward 1 h:2", "-oDynamicForward=1", "host", "id"},
       "host",
       "id",
       {"-oLocalForward=1 h:2", "-oRemoteForward 1 h:2", "-oDynamicForward=1"}},
      {{"-W", "h:22", "-oClearAllForwardings=yes", "host"},
       "host",
       std::nullopt,
       {"-oClearAllForwardings=yes"}},
      {{"-TfNL1:h:2", "host"}, "host", std::nullopt, {"-TL1:h:2"}},
      {{"-oSessionType=none", "-oForkAfterAuthentication=yes", "host"}, "host", std::nullopt, {}},
  };
  for (const Expected& run : runs) expect_run(run);
}

std::string forwarding_facts(const Words& words) {
  const Options got = parse_options(words);
  return std::string(got.forwards ? "L" : "") + (got.no_command ? "N" : "") + (got.no_stdin ? "n" : "") +
         (got.background ? "f" : "") + (got.terminal_if_stdin_is_one ? "t" : "") +
         got.stdio_forward.value_or("");
}

TEST(Options, ForwardingFacts) {
  EXPECT_EQ(forwarding_facts({"-L", "1:h:2", "host"}), "Lt");
  EXPECT_EQ(forwarding_facts({"-L1:h:2", "-oClearAllForwardings=yes", "host", "id"}), "");
  EXPECT_EQ(forwarding_facts({"-oClearAllForwardings=no", "-oClearAllForwardings=yes", "-D1", "host", "id"}),
            "L");
  EXPECT_EQ(forwarding_facts({"-N", "-R1:h:2", "host"}), "LN");
  EXPECT_EQ(forwarding_facts({"-oSessionType=none", "host"}), "N");
  EXPECT_EQ(forwarding_facts({"-fN", "host"}), "Nnf");
  EXPECT_EQ(forwarding_facts({"-f", "host", "id"}), "nf");
  EXPECT_EQ(forwarding_facts({"-Wh:22", "host"}), "Nh:22");
}

// What would leave the bootstrap ssh without stdin, or make a subsystem of our server, does not reach it.
TEST(Options, BootstrapKeepsItsStdin) {
  const std::vector<Expected> runs = {
      {{"-qnx", "host", "id"}, "host", "id", {"-qx"}},
      {{"-oStdinNull=yes", "-oSessionType subsystem", "host", "sftp"}, "host", "sftp", {}},
      {{"-s", "-oSessionType=none", "host", "sftp"}, "host", "sftp", {}},
      {{"-oStdinNull=no", "-oSessionType=default", "host", "id"},
       "host",
       "id",
       {"-oStdinNull=no", "-oSessionType=default"}},
  };
  for (const Expected& run : runs) expect_run(run);
  EXPECT_TRUE(parse_options(Words{"-qnx", "host", "id"}).no_stdin);
  EXPECT_TRUE(parse_options(Words{"-oStdinNull=yes", "host", "id"}).no_stdin);
  EXPECT_TRUE(parse_options(Words{"-oSessionType=subsystem", "host", "sftp"}).subsystem);
  EXPECT_TRUE(parse_options(Words{"host", "-s", "sftp"}).subsystem);
  EXPECT_FALSE(parse_options(Words{"host", "sftp"}).subsystem);
}

TEST(Options, HandsOver) {
  const std::vector<Words> rows = {
      {"-t", "host", "top"},
      {"-tt", "host", "top"},
      {"-Tt", "host", "top"},
      {"-oRequestTTY=force", "host", "top"},
      {"-orequesttty yes", "host", "top"},
      {"-oRequestTTY=no", "-t", "host", "top"},
      {"-O", "exit", "host"},
      {"-Q", "cipher"},
      {"-M", "-S", "sock", "-o", "ControlPersist=1m", "host", "exit"},
      {"-oControlMaster=yes", "host", "id"},
      {"-w", "0", "host", "id"},
      {"-oTunnel=yes", "host", "id"},
      {"-X", "host", "id"},
      {"-xY", "host", "id"},
      {"-aA", "host", "id"},
      {"-oForwardAgent=/sock", "host", "id"},
      {"-oForwardX11=yes", "host", "id"},
      {"-W", "h:22", "-W", "h:23", "host"},
      {"-W", "", "host"},
      {"-s", "-N", "host", "sftp"},
      {"-f", "host"},
      {"-oRemoteCommand=id", "host"},
      {"-G", "-o", "SendEnv=GIT_PROTOCOL", "-4", "-p", "22", "user@host"},
      {"-G", "host"},
      {"-P", "tag", "host", "id"},
      {"-V"},
      {"-Z", "host", "id"},
      {"-q-", "host", "id"},
      {"host", "-p"},
      {"-s", "host"},
      {"@host", "id"},
      {"ssh://u%0aport%201@host", "id"},
      {"ssh://u%00@host", "id"},
      {"ssh://host/path", "id"},
      {"ssh://[::1]:22", "id"},
      {"ssh://host:ssh", "id"},
      {"-p", "1", "ssh://host:70000", "id"},
  };
  for (const Words& row : rows) {
    SCOPED_TRACE(join(row));
    const Options got = parse_options(row);
    EXPECT_EQ(got.action, Action::kHandOver) << got.message;
    EXPECT_NE(got.message, "");
    EXPECT_EQ(join(got.words_for_hand_over), join(row));
  }
}

TEST(Options, RunsWhereTheLastWordTakesBackTheFirst) {
  const std::vector<Words> rows = {
      {"-tT", "host", "id"},
      {"-Xx", "host", "id"},
      {"-A", "-a", "host", "id"},
      {"-oForwardAgent=no", "-oForwardAgent=yes", "host", "id"},
      {"-oRequestTTY=no", "-oRequestTTY=force", "host", "id"},
      {"-L1:h:2", "-oClearAllForwardings=yes", "host", "id"},
      {"-oRemoteCommand=None", "-oRemoteCommand=id", "host", "id"},
  };
  for (const Words& row : rows) {
    SCOPED_TRACE(join(row));
    EXPECT_EQ(parse_options(row).action, Action::kRun);
  }
}

TEST(Options, RefusesNoHostAndLeadingDashes) {
  const std::vector<Words> rows = {
      {},
      {"-q"},
      {"user@", "id"},
      {"--", "-host", "id"},
      {"-", "id"},
      {"user@-host", "id"},
      {"-l-user", "host", "id"},
      {"-oUser=-user", "host", "id"},
      {"-V", "--", "-host"},
  };
  for (const Words& row : rows) {
    SCOPED_TRACE(join(row));
    const Options got = parse_options(row);
    EXPECT_EQ(got.action, Action::kUsageError);
    EXPECT_NE(got.message, "");
    EXPECT_EQ(got.message.find('\n'), std::string::npos);
  }
}

TEST(Options, QuietAndVerbose) {
  const auto level = [](const Words& words) {
    const Options got = parse_options(words + Words{"host", "id"});
    return (got.quiet ? "q" : "") + std::to_string(got.verbose);
  };
  EXPECT_EQ(level({}), "0");
  EXPECT_EQ(level({"-q"}), "q0");
  EXPECT_EQ(level({"-v"}), "1");
  EXPECT_EQ(level({"-vvvv"}), "3");
  EXPECT_EQ(level({"-qv"}), "1");
  EXPECT_EQ(level({"-vq"}), "q0");
  EXPECT_EQ(level({"-oLogLevel=DEBUG2"}), "2");
  EXPECT_EQ(level({"-oLogLevel=error", "-oLogLevel=debug"}), "q0");
  EXPECT_EQ(level({"-oLogLevel=error", "-v"}), "1");
}

TEST(Options, Facts) {
  EXPECT_TRUE(parse_options(Words{"host"}).terminal_if_stdin_is_one);
  EXPECT_FALSE(parse_options(Words{"-T", "host"}).terminal_if_stdin_is_one);
  EXPECT_FALSE(parse_options(Words{"-n", "host"}).terminal_if_stdin_is_one);
  EXPECT_FALSE(parse_options(Words{"-oRequestTTY=no", "host"}).terminal_if_stdin_is_one);
  EXPECT_FALSE(parse_options(Words{"host", "id"}).terminal_if_stdin_is_one);
  EXPECT_EQ(parse_options(Words{"-46", "host"}).address_family, AddressFamily::kIpv6);
  EXPECT_EQ(parse_options(Words{"-oAddressFamily=inet", "host"}).address_family, AddressFamily::kIpv4);
  EXPECT_EQ(parse_options(Words{"host"}).address_family, AddressFamily::kAny);
}

std::string shell_quoted(const Words& words) {
  std::string out;
  for (const std::string& word : words) {
    out += " '";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += "'";
  }
  return out;
}

// The configuration that the real ssh makes of `words`; empty where it refuses them.
std::string resolved(const Words& words) {
  const std::string line = "ssh -F none -G" + shell_quoted(words) + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(line.c_str(), "r"), pclose);
  std::string out;
  std::array<char, 4096> buffer{};
  while (const auto got = fread(buffer.data(), 1, buffer.size(), pipe.get())) out.append(buffer.data(), got);
  return out;
}

// The oracle: ssh makes the same of our words and bare host as of the caller's own command line.
TEST(Options, RealSshAgrees) {
  if (resolved({"host"}).empty()) GTEST_SKIP() << "no OpenSSH client here";
  const std::vector<Words> rows = {
      {"a@b@host"},
      {"-l", "a", "b@host"},
      {"b@host", "-l", "a", "-p", "9"},
      {"ssh://u%40v;x=y@host.:3/", "-p", "1"},
      {"ssh://a+b@host:"},
      {"-oUser=c", "a@HOST", "-oUser=d"},
      {"-o", " Port = \"7\" ", "host"},
      {"-oport\t7", "::1"},
      {"-o\"Port\" 7", "host"},
      {"-oUser='a b' # me", "host"},
      {"-oUser=a\\ b", "host"},
      {"-o=Port 7", "host"},
      {"-o  Port=7", "-oUser= =x", "host"},
      {"-46xaTC", "-vv", "-q", "-p", "ssh", "-p", "7", "host"},
      {"-oLogLevel=error", "-v", "host"},
      {"-i", "--", "host"},
      {"host", "-oClearAllForwardings=yes", "-L1:h:2"},
      {"-c8", "-o", "ConnectTimeout=30", "-4c", "9", "host", "--memory", "8M"},
      {"-xo", "ForwardAgent no", "-oRequestTTY=no", "-oRequestTTY=force", "host"},
  };
  for (const Words& row : rows) {
    SCOPED_TRACE(join(row));
    const Options got = parse_options(row);
    const std::string ours = resolved(got.ssh_words + Words{"--", got.host});
    EXPECT_NE(ours, "");
    EXPECT_EQ(ours, resolved(got.words_for_hand_over));
    if (got.user) {
      EXPECT_NE(("\n" + ours).find("\nuser " + *got.user + "\n"), std::string::npos);
    }
    if (got.port) {
      EXPECT_NE(ours.find("\nport " + std::to_string(*got.port) + "\n"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace mcdtp
