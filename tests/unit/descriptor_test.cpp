#include "common/io/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/error.hpp>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/temporary_folder.h"

namespace mcdtp {
namespace {

using Status = IoResult::Status;

struct Pair {
  int first;
  int second;
};

Pair make_pipe() {
  int fds[2];
  EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
  return {fds[0], fds[1]};
}

Pair make_sockets() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {fds[0], fds[1]};
}

int make_file(const std::string& content) {
  char path[] = "/tmp/descriptor_test.XXXXXX";
  const int fd = mkstemp(path);
  EXPECT_GE(fd, 0);
  unlink(path);
  EXPECT_EQ(write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  lseek(fd, 0, SEEK_SET);
  return fd;
}

bool is_nonblocking(int fd) { return (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0; }

// Stands `fd` in the place of `number` for its lifetime. Nothing may be printed while number is 1 or 2:
// the tests note what they see and judge it afterwards.
class StandIn {
 public:
  StandIn(int number, int fd) : number_(number), saved_(fcntl(number, F_DUPFD_CLOEXEC, 100)) {
    fflush(stdout);
    dup2(fd, number);
  }
  ~StandIn() {
    dup2(saved_, number_);
    ::close(saved_);
  }

 private:
  int number_;
  int saved_;
};

class DescriptorTest : public ::testing::Test {
 protected:
  DescriptorTest() { std::signal(SIGPIPE, SIG_IGN); }

  WaitHandler note(const std::string& name) {
    return
        [this, name](std::error_code error) { log_.push_back(error ? name + ": " + error.message() : name); };
  }
  std::vector<std::string> run() {
    io_.restart();
    io_.run();
    return std::exchange(log_, {});
  }
  static std::string text_of(Descriptor& descriptor) {
    std::array<std::uint8_t, 100> buffer{};
    const IoResult result = descriptor.read(buffer);
    if (result.status == Status::kEnd) return "<end>";
    if (result.status != Status::kBytes) return "<none>";
    return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(result.bytes)};
  }

  using Log = std::vector<std::string>;
  const std::string aborted_ = std::error_code(asio::error::operation_aborted).message();
  asio::io_context io_;
  Log log_;
};

Bytes bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Writes until it would block.
std::size_t fill(Descriptor& out) {
  const std::vector<std::uint8_t> block(4096);
  std::size_t total = 0;
  for (IoResult r = out.write(block); r.status == Status::kBytes; r = out.write(block)) total += r.bytes;
  return total;
}

TEST_F(DescriptorTest, PipeGivesBytesThenWouldBlockThenEnd) {
  const Pair pipe = make_pipe();
  Descriptor in(io_, pipe.first);
  EXPECT_EQ(text_of(in), "<none>");
  in.async_wait_readable(note("readable"));
  io_.poll();
  EXPECT_TRUE(log_.empty());
  ASSERT_EQ(write(pipe.second, "abc", 3), 3);
  EXPECT_EQ(run(), Log{"readable"});
  EXPECT_EQ(text_of(in), "abc");
  ::close(pipe.second);
  in.async_wait_readable(note("end"));
  EXPECT_EQ(run(), Log{"end"});
  EXPECT_EQ(text_of(in), "<end>");
}

TEST_F(DescriptorTest, FullPipeIsWritableAgainWhenRead) {
  const Pair pipe = make_pipe();
  Descriptor out(io_, pipe.second);
  const std::size_t size = fill(out);
  EXPECT_GE(size, 4096u);
  out.async_wait_writable(note("writable"));
  io_.poll();
  EXPECT_TRUE(log_.empty());
  std::vector<std::uint8_t> room(size);
  EXPECT_EQ(read(pipe.first, room.data(), size), static_cast<ssize_t>(size));
  EXPECT_EQ(run(), Log{"writable"});
  EXPECT_EQ(out.write(bytes("x")).bytes, 1u);
  ::close(pipe.first);
}

TEST_F(DescriptorTest, PipeThatWasFullIsWider) {
  const Pair written = make_pipe(), read_from = make_pipe(), idle = make_pipe();
  const int was = fcntl(idle.first, F_GETPIPE_SZ);
  Descriptor out(io_, written.second), in(io_, read_from.first), little(io_, idle.first);
  EXPECT_EQ(fill(out), 256u * 1024);
  const std::vector<std::uint8_t> full(64 * 1024);
  ASSERT_EQ(write(read_from.second, full.data(), full.size()), static_cast<ssize_t>(full.size()));
  std::vector<std::uint8_t> room(full.size());
  EXPECT_EQ(in.read(room).bytes, full.size());
  EXPECT_EQ(fcntl(read_from.second, F_GETPIPE_SZ), 256 * 1024);
  ASSERT_EQ(write(idle.second, "abc", 3), 3);
  EXPECT_EQ(text_of(little), "abc");
  EXPECT_EQ(fcntl(idle.first, F_GETPIPE_SZ), was);
  for (const int end : {written.first, read_from.second, idle.second}) ::close(end);
}

TEST_F(DescriptorTest, WiderPipeStaysAsItIs) {
  const Pair pipe = make_pipe();
  ASSERT_GE(fcntl(pipe.second, F_SETPIPE_SZ, 512 * 1024), 512 * 1024);
  Descriptor out(io_, pipe.second);
  EXPECT_EQ(fill(out), 512u * 1024);
  ::close(pipe.first);
}

TEST_F(DescriptorTest, WaitsOnWhatIsReadyAlreadyEachTime) {
  const Pair pipe = make_pipe();
  Descriptor in(io_, pipe.first);
  ASSERT_EQ(write(pipe.second, "abc", 3), 3);
  for (int i = 0; i < 3; ++i) {
    in.async_wait_readable(note("readable"));
    EXPECT_EQ(run(), Log{"readable"});
  }
  ::close(pipe.second);
}

TEST_F(DescriptorTest, LostReaderIsTheEnd) {
  const Pair pipe = make_pipe();
  Descriptor out(io_, pipe.second);
  fill(out);
  ::close(pipe.first);
  out.async_wait_writable(note("writable"));
  EXPECT_EQ(run(), Log{"writable"});
  const IoResult result = out.write(bytes("x"));
  EXPECT_EQ(result.status, Status::kEnd);
  EXPECT_EQ(result.error, EPIPE);
}

TEST_F(DescriptorTest, GathersBuffers) {
  const Pair pipe = make_pipe();
  Descriptor in(io_, pipe.first);
  Descriptor out(io_, pipe.second);
  char one[] = "one";
  char two[] = " two";
  const std::array<iovec, 2> parts{iovec{one, 3}, iovec{two, 4}};
  EXPECT_EQ(out.write(parts).bytes, 7u);
  EXPECT_EQ(text_of(in), "one two");
  const std::vector<iovec> many(5000, iovec{one, 3});  // more than the kernel takes
  EXPECT_EQ(out.write(many).status, Status::kBytes);
}

TEST_F(DescriptorTest, RegularFileIsAlwaysReady) {
  Descriptor file(io_, make_file("content"));
  EXPECT_TRUE(file.is_always_ready());
  file.async_wait_readable(note("readable"));
  file.async_wait_writable(note("writable"));
  EXPECT_TRUE(log_.empty());  // posted, not called from within
  EXPECT_EQ(run(), (Log{"readable", "writable"}));
  EXPECT_EQ(text_of(file), "content");
  EXPECT_EQ(text_of(file), "<end>");
  EXPECT_EQ(file.write(bytes("more")).bytes, 4u);
}

TEST_F(DescriptorTest, DevNullIsAlwaysReady) {
  Descriptor null(io_, open("/dev/null", O_RDWR | O_CLOEXEC));
  null.async_wait_readable(note("readable"));
  null.async_wait_writable(note("writable"));
  EXPECT_EQ(run(), (Log{"readable", "writable"}));
  EXPECT_EQ(text_of(null), "<end>");
  EXPECT_EQ(null.write(bytes("gone")).bytes, 4u);
}

TEST_F(DescriptorTest, FullDeviceIsAnError) {
  Descriptor full(io_, open("/dev/full", O_WRONLY | O_CLOEXEC));
  const IoResult result = full.write(bytes("x"));
  EXPECT_EQ(result.status, Status::kError);
  EXPECT_EQ(result.error, ENOSPC);
}

TEST_F(DescriptorTest, ReadinessOnItsWayIsAbortedByCancelAndByTheEnd) {
  const Pair pipe = make_pipe();
  ASSERT_EQ(write(pipe.second, "x", 1), 1);
  {
    Descriptor in(io_, pipe.first);
    Descriptor file(io_, make_file(""));
    in.async_wait_readable(note("cancelled pipe"));
    file.async_wait_readable(note("cancelled file"));
    in.cancel();
    file.cancel();
    io_.poll();
    EXPECT_EQ(log_, (Log{"cancelled file: " + aborted_, "cancelled pipe: " + aborted_}));
    log_.clear();
    in.async_wait_readable(note("pipe"));
    file.async_wait_readable(note("file"));
  }
  EXPECT_EQ(run(), (Log{"file: " + aborted_, "pipe: " + aborted_}));
  ::close(pipe.second);
}

TEST_F(DescriptorTest, ClosedOneAnswersAllTheSame) {
  const Pair pipe = make_pipe();
  Descriptor in(io_, pipe.first);
  in.close();
  in.async_wait_readable(note("closed"));
  EXPECT_EQ(run().size(), 1u);
  EXPECT_EQ(in.write(bytes("x")).status, Status::kError);
  EXPECT_EQ(text_of(in), "<none>");
  ::close(pipe.second);
}

TEST_F(DescriptorTest, ShutdownOfASocketLeavesTheOtherWayOpen) {
  const Pair sockets = make_sockets();
  Descriptor near(io_, sockets.first);
  Descriptor far(io_, sockets.second);
  near.shutdown_write();
  EXPECT_EQ(text_of(far), "<end>");
  EXPECT_EQ(far.write(bytes("back")).bytes, 4u);
  EXPECT_EQ(text_of(near), "back");
}

TEST_F(DescriptorTest, ShutdownOfAPipeClosesIt) {
  const Pair pipe = make_pipe();
  Descriptor in(io_, pipe.first);
  Descriptor out(io_, pipe.second);
  out.shutdown_write();
  EXPECT_FALSE(out.is_open());
  EXPECT_EQ(text_of(in), "<end>");
}

// scp and sftp give one socket as 0 and 1.
TEST_F(DescriptorTest, OneSocketAsBothStandardDescriptors) {
  const Pair sockets = make_sockets();
  Log seen;
  bool during = false, after_first = false, after_both = true;
  {
    StandIn in(0, sockets.first), out(1, sockets.first);
    asio::io_context io;
    auto input = Descriptor::borrow(io, 0);
    auto output = Descriptor::borrow(io, 1);
    during = is_nonblocking(sockets.first);
    (void)!write(sockets.second, "ping", 4);
    input->async_wait_readable([&](std::error_code error) { seen.push_back(error ? "?" : text_of(*input)); });
    output->async_wait_writable([&](std::error_code error) { seen.push_back(error ? "?" : "writable"); });
    io.run();
    input.reset();
    after_first = is_nonblocking(sockets.first);
    output.reset();
    after_both = is_nonblocking(sockets.first);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (Log{"ping", "writable"}));
  EXPECT_TRUE(during);
  EXPECT_TRUE(after_first) << "the one that is left must not block";
  EXPECT_FALSE(after_both);
  ::close(sockets.first);
  ::close(sockets.second);
}

// rsync gives its end of a pipe with O_NONBLOCK set.
TEST_F(DescriptorTest, FlagsAreLeftAsFound) {
  const Pair input = make_pipe();
  const Pair output = make_pipe();
  fcntl(output.second, F_SETFL, O_NONBLOCK);
  bool restored = false, kept = false;
  {
    StandIn in(0, input.first), out(1, output.second);
    {
      const auto one = Descriptor::borrow(io_, 0);
      const auto two = Descriptor::borrow(io_, 1);
    }
    { const auto again = Descriptor::borrow(io_, 0); }
    restored = !is_nonblocking(0);
    kept = is_nonblocking(1);
  }
  EXPECT_TRUE(restored);
  EXPECT_TRUE(kept);
  for (int fd : {input.first, input.second, output.first, output.second}) ::close(fd);
}

// A shell and a pager write to the same open file while we run.
TEST_F(DescriptorTest, TerminalOfOthersStaysBlocking) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
  const int terminal = ::open(ptsname(master), O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  bool blocking = false;
  {
    StandIn in(0, terminal);
    const auto input = Descriptor::borrow(io_, 0);
    input->async_wait_readable([&](std::error_code error) { log_.push_back(error ? "?" : text_of(*input)); });
    (void)!write(master, "typed\n", 6);
    io_.run();
    blocking = !is_nonblocking(0);
  }
  EXPECT_EQ(log_, (Log{"typed\n"}));
  EXPECT_TRUE(blocking);
  ::close(terminal);
  ::close(master);
}

// The writer of a named pipe may have gone before it is borrowed, and its words still be there.
TEST_F(DescriptorTest, EndOfANamedPipeIsSeenWheneverItsWriterGoes) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  for (const bool goes_before : {true, false}) {
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int writer = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    fcntl(reader, F_SETFL, 0);
    StandIn in(0, reader);
    (void)!write(writer, "words", 5);
    if (goes_before) ::close(writer);
    const auto input = Descriptor::borrow(io_, 0);
    if (!goes_before) ::close(writer);
    input->async_wait_readable([&](std::error_code) {
      log_.push_back(text_of(*input));
      input->async_wait_readable([&](std::error_code) { log_.push_back(text_of(*input)); });
    });
    io_.restart();
    io_.run_for(seconds(10));
    ::close(reader);
  }
  EXPECT_EQ(log_, (Log{"words", "<end>", "words", "<end>"}));
}

// What pppd gives to its `pty` program.
TEST_F(DescriptorTest, MasterOfATerminalIsUsedItself) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
  const int terminal = ::open(ptsname(master), O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  {
    StandIn in(0, master);
    const auto input = Descriptor::borrow(io_, 0);
    input->async_wait_readable([&](std::error_code error) { log_.push_back(error ? "?" : text_of(*input)); });
    (void)!write(terminal, "spoken", 6);
    io_.run_for(seconds(10));
  }
  EXPECT_EQ(log_, (Log{"spoken"}));
  EXPECT_FALSE(is_nonblocking(master));
  ::close(terminal);
  ::close(master);
}

TEST_F(DescriptorTest, BorrowedSocketIsNotShutDown) {
  const Pair sockets = make_sockets();
  ssize_t written = 0;
  {
    StandIn out(1, sockets.first);
    const auto output = Descriptor::borrow(io_, 1);
    output->shutdown_write();
    written = write(1, "next command", 12);
  }
  EXPECT_EQ(written, 12);
  ::close(sockets.first);
  ::close(sockets.second);
}

// The open file outlives the duplicate, so epoll does not forget it by itself.
TEST_F(DescriptorTest, BorrowedOneLeavesTheEpollSet) {
  const Pair pipe = make_pipe();
  {
    StandIn in(0, pipe.first);
    { const auto gone = Descriptor::borrow(io_, 0); }
    const Pair other = make_pipe();
    Descriptor reuses(io_, other.first);  // asio gives it the same record
    reuses.async_wait_readable(note("woken by a stranger"));
    ASSERT_EQ(write(pipe.second, "x", 1), 1);
    io_.poll();
    EXPECT_TRUE(log_.empty());
    ::close(other.second);
  }
  ::close(pipe.first);
  ::close(pipe.second);
}

TEST_F(DescriptorTest, ClosedStandardInputIsASentenceOrDevNull) {
  std::string sentence, content;
  const int saved = fcntl(0, F_DUPFD_CLOEXEC, 100);
  ::close(0);
  try {
    Descriptor::borrow(io_, 0);
  } catch (const std::runtime_error& error) {
    sentence = error.what();
  }
  open_missing_stdio();
  {
    const auto input = Descriptor::borrow(io_, 0);
    content = text_of(*input);
  }
  dup2(saved, 0);
  ::close(saved);
  EXPECT_EQ(sentence, "using standard input: Bad file descriptor");
  EXPECT_EQ(content, "<end>");
}

TEST_F(DescriptorTest, StderrIsWrittenWholeThoughItWouldBlock) {
  const Pair pipe = make_pipe();
  fcntl(pipe.second, F_SETFL, O_NONBLOCK);
  const std::string text(300000, 'e');
  std::string read_back;
  std::thread reader([&] {
    std::array<char, 8192> buffer{};
    while (read_back.size() < text.size()) {
      const ssize_t n = read(pipe.first, buffer.data(), buffer.size());
      if (n <= 0) break;
      read_back.append(buffer.data(), static_cast<std::size_t>(n));
    }
  });
  {
    StandIn err(2, pipe.second);
    write_stderr_all(text);
  }
  ::close(pipe.second);
  reader.join();
  EXPECT_TRUE(read_back == text) << read_back.size();
  ::close(pipe.first);
}

TEST_F(DescriptorTest, TryingStderrNeverWaitsNorSetsFlags) {
  const Pair pipe = make_pipe();
  const std::vector<std::uint8_t> block(10000);
  IoResult last;
  std::size_t total = 0;
  bool changed = false;
  {
    StandIn err(2, pipe.second);
    for (last = try_write_stderr(block); last.status == Status::kBytes; last = try_write_stderr(block)) {
      total += last.bytes;
    }
    changed = is_nonblocking(2);
  }
  EXPECT_EQ(last.status, Status::kWouldBlock);
  EXPECT_GE(total, 4096u);
  EXPECT_FALSE(changed);
  ::close(pipe.first);
  ::close(pipe.second);
}

}  // namespace
}  // namespace mcdtp
