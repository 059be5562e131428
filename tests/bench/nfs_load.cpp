// nfs-load: reads or writes one file of an NFS server with many operations outstanding, as a kernel's client has
// them (nfs-cp keeps one, and so measures the delay alone), checks every byte read, and prints how long it took.
//
//   nfs-load write URL BYTES [BLOCK [OUTSTANDING]]     URL: nfs://HOST/PATH?version=4&nfsport=PORT
//   nfs-load read URL BYTES [BLOCK [OUTSTANDING]]      what `nfs-load write` wrote there
//   nfs-load pattern BYTES                             the same bytes, on stdout
// libnfs 4.0 writes well under 4,000 bytes at once in NFSv4 (its buffer for a call has no room for more).
#include <fcntl.h>
#include <nfsc/libnfs.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t kDefaultBlock = 256 * 1024;
constexpr std::uint64_t kDefaultOutstanding = 32;
constexpr int kPollMilliseconds = 60'000;  // without any answer for so long: given up

// Each eight bytes of the file say where they stand (splitmix64 of their number).
std::uint64_t word_at(std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void fill(std::uint64_t offset, std::vector<char>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t at = offset + i;
    bytes[i] = static_cast<char>(word_at(at / 8) >> 8 * (at % 8));
  }
}

struct Job {
  bool write = false;
  std::uint64_t size = 0;
  std::uint64_t block = kDefaultBlock;
  std::uint64_t outstanding = kDefaultOutstanding;
};

// One file, and the operations on it that are under way. Throws where the server refuses one or an answer is wrong.
class Load {
 public:
  Load(const std::string& url, Job job)
      : nfs_(nfs_init_context(), nfs_destroy_context), job_(job), operations_(job.outstanding) {
    const std::unique_ptr<nfs_url, void (*)(nfs_url*)> parts(nfs_parse_url_full(nfs_.get(), url.c_str()),
                                                             nfs_destroy_url);
    if (!parts) fail("parse the URL");
    if (nfs_mount(nfs_.get(), parts->server, parts->path) != 0) fail("mount");
    // libnfs 4.0 can open no file anew in NFSv4: what there may be has to go first.
    if (job_.write) nfs_unlink(nfs_.get(), parts->file);
    const int flags = job_.write ? O_CREAT | O_WRONLY : O_RDONLY;
    const int result = nfs_open(nfs_.get(), parts->file, flags, &file_);
    if (result != 0) fail("open");
    const std::uint64_t most = job_.write ? nfs_get_writemax(nfs_.get()) : nfs_get_readmax(nfs_.get());
    if (most > 0) job_.block = std::min(job_.block, most);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() { nfs_close(nfs_.get(), file_); }

  // Seconds from the first operation to the last one's answer; written bytes are then on the server's disk.
  double run() {
    const auto begin = std::chrono::steady_clock::now();
    for (Operation& operation : operations_) {
      operation.load = this;
      start(operation);
    }
    while (under_way_ > 0) serve();
    if (job_.write && nfs_fsync(nfs_.get(), file_) != 0) fail("fsync");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  std::uint64_t block() const { return job_.block; }

 private:
  struct Operation {
    Load* load = nullptr;
    std::uint64_t offset = 0;
    std::vector<char> bytes;  // what is written, or has to come
  };

  void start(Operation& operation) {
    if (next_ >= job_.size || !error_.empty()) return;
    operation.offset = next_;
    operation.bytes.resize(std::min(job_.block, job_.size - next_));
    next_ += operation.bytes.size();
    fill(operation.offset, operation.bytes);
    const int result = job_.write
                           ? nfs_pwrite_async(nfs_.get(), file_, operation.offset, operation.bytes.size(),
                                              operation.bytes.data(), answered, &operation)
                           : nfs_pread_async(nfs_.get(), file_, operation.offset, operation.bytes.size(),
                                             answered, &operation);
    if (result != 0) return note(nfs_get_error(nfs_.get()));
    ++under_way_;
  }

  // Called by libnfs, which must not see an exception.
  static void answered(int result, nfs_context*, void* data, void* operation) {
    Operation& done = *static_cast<Operation*>(operation);
    --done.load->under_way_;
    done.load->judge(result, data, done);
    done.load->start(done);
  }

  void judge(int result, const void* data, const Operation& done) {
    const std::string at = " at byte " + std::to_string(done.offset);
    if (result < 0) return note(static_cast<const char*>(data) + at);
    if (static_cast<std::size_t>(result) != done.bytes.size()) return note("a short answer" + at);
    if (!job_.write && std::memcmp(data, done.bytes.data(), done.bytes.size()) != 0) note("wrong bytes" + at);
  }

  void note(const std::string& error) {
    if (error_.empty()) error_ = error;
  }

  void serve() {
    pollfd socket{nfs_get_fd(nfs_.get()), static_cast<short>(nfs_which_events(nfs_.get())), 0};
    if (poll(&socket, 1, kPollMilliseconds) == 0) throw std::runtime_error("no answer from the server");
    if (nfs_service(nfs_.get(), socket.revents) != 0) fail("go on");
    if (!error_.empty()) throw std::runtime_error(error_);
  }

  [[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error("cannot " + what + ": " + nfs_get_error(nfs_.get()));
  }

  std::unique_ptr<nfs_context, void (*)(nfs_context*)> nfs_;
  nfsfh* file_ = nullptr;
  Job job_;
  std::vector<Operation> operations_;  // outlives the connection: closing it calls answered()
  std::uint64_t next_ = 0;             // where the next operation begins
  std::uint64_t under_way_ = 0;
  std::string error_;  // the first one
};

std::uint64_t number(const char* text) {
  const std::uint64_t value = std::strtoull(text, nullptr, 10);
  if (value == 0) throw std::runtime_error(std::string(text) + " is not a number from 1 on");
  return value;
}

void print_pattern(std::uint64_t size) {
  std::vector<char> bytes;
  for (std::uint64_t offset = 0; offset < size; offset += bytes.size()) {
    bytes.resize(std::min<std::uint64_t>(size - offset, kDefaultBlock));
    fill(offset, bytes);
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size())
      throw std::runtime_error("cannot write");
  }
}

void run(const std::vector<const char*>& words) {
  const std::string verb = words.at(0);
  if (verb == "pattern") return print_pattern(number(words.at(1)));
  if (verb != "read" && verb != "write") throw std::out_of_range(verb);
  Job job{verb == "write", number(words.at(2))};
  if (words.size() > 3) job.block = number(words[3]);
  if (words.size() > 4) job.outstanding = number(words[4]);
  Load load(words.at(1), job);
  const double seconds = load.run();
  std::printf(
      "%s %llu bytes in %.3f s, %.1f Mbit/s, %llu operations of %llu bytes outstanding\n", verb.c_str(),
      static_cast<unsigned long long>(job.size), seconds, static_cast<double>(job.size) * 8e-6 / seconds,
      static_cast<unsigned long long>(job.outstanding), static_cast<unsigned long long>(load.block()));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
  } catch (const std::out_of_range&) {
    std::fprintf(stderr,
                 "usage: nfs-load read|write URL BYTES [BLOCK [OUTSTANDING]] | nfs-load pattern BYTES\n");
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nfs-load: %s\n", error.what());
    return 1;
  }
  return 0;
}
