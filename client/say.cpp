#include "client/say.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "common/core/bytes.h"
#include "common/io/descriptor.h"

namespace mcdtp {
namespace {

std::string our_name = "mcdtp-shim: ";

// What the lines go to, for as long as the process lives.
int lines_fd = STDERR_FILENO;

// What was given to us may hold anything.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c); }, '?');
  return text;
}

}  // namespace

void say_of_way_to(const std::string& host) { our_name = "mcdtp-shim (" + one_line(host) + "): "; }

void say_into(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) throw std::runtime_error("open logfile " + path + ": " + std::strerror(errno));
  lines_fd = fd;
}

void say(const std::string& line) { write_shared_all(lines_fd, our_name + one_line(line) + "\n"); }

void say_killed(const std::string& signal) {
  if (!signal.empty()) say("the process that logs in was ended by a signal: " + signal);
}

void write_line_if_room(const std::string& line) {
  const std::string text = line + "\n";
  [[maybe_unused]] const IoResult ignored = try_write_shared(lines_fd, as_bytes(text));
}

void say_if_room(const std::string& line) { write_line_if_room(our_name + one_line(line)); }

}  // namespace mcdtp
