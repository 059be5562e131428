#pragma once

#include <string>

namespace mcdtp {

// Where and by what the user's commands run.
struct Account {
  std::string shell;  // path of the program
  std::string home;
};

// As sshd has it, and has put it into the environment; a start-up file may have changed that. Of the file `passwd` alone:
// other sources of the password database may be far away, and a statically linked program cannot ask them. A user that does
// not stand there has what the environment says.
Account account_of_user(const std::string& passwd = "/etc/passwd");

}  // namespace mcdtp
