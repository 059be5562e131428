#pragma once

#include <asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/ssh_exec.h"
#include "common/io/driver.h"
#include "common/io/links.h"

namespace mcdtp {

// Further SSH connections to the server's host, where `ssh -W` leads each to a port that the server has on its loopback.
// They ask nobody anything. At first one logs in, and when it carries packets the others do, a few at a time, as sshd's
// MaxStartups likes it. One that has ended is made again when want() is called a while later, which is to be whenever something
// moves; but none any more where the first cannot be made, or three in a row.
class SshLinks : public Links {
 public:
  using Tell = std::function<void(const std::string&)>;

  // `argv`: of such an ssh, "ssh" included. `stderr_kind`: of theirs. `tell`: what is for -v.
  SshLinks(Driver& driver, std::vector<std::string> argv, ChildStderr stderr_kind, Tell tell);
  ~SshLinks() override;

  void want(std::size_t count) override;
  void on_proved(ChannelId id) override;
  void on_link_end(ChannelId id) override;
  void hurry() override;
  void stop() override;
  std::size_t proved() const override { return proved_.size(); }
  std::string_view kind() const override { return "another SSH connection"; }

 private:
  struct Connection {
    std::unique_ptr<SshProcess> ssh;
    std::unique_ptr<asio::steady_timer> patience;  // until it is proved
    Time proved_at;
  };

  bool may_log_in() const;
  void go_on();
  void log_in();
  void await_proof(ChannelId id);
  void pause();
  void give_up(const std::string& why);

  Driver& driver_;
  std::vector<std::string> argv_;
  ChildStderr stderr_kind_;
  Tell tell_;
  std::size_t wanted_ = 0;
  ChannelId next_id_ = kFirstTcpChannel;
  std::map<ChannelId, Connection> connections_;
  std::set<ChannelId> proved_;
  asio::steady_timer pause_timer_;
  bool pausing_ = false;
  Duration pause_;
  int failures_left_ = 1;  // until none is made any more; more once one was proved
  bool stopped_ = false;
};

}  // namespace mcdtp
