#include "server/account.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace mcdtp {
namespace {

std::string environment_or(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

}  // namespace

Account account_of_user(const std::string& passwd) {
  Account account{environment_or("SHELL", "/bin/sh"), environment_or("HOME", "/")};
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(passwd.c_str(), "re"), std::fclose);
  if (!file) return account;
  // Several may share a number.
  const std::string name = environment_or("LOGNAME", environment_or("USER", ""));
  while (const struct passwd* user = fgetpwent(file.get())) {
    if (user->pw_uid != getuid() || (!name.empty() && name != user->pw_name)) continue;
    account.shell = *user->pw_shell != '\0' ? user->pw_shell : "/bin/sh";
    if (*user->pw_dir != '\0') account.home = user->pw_dir;
    break;
  }
  return account;
}

}  // namespace mcdtp
