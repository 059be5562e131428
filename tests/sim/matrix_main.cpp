#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/sim/matrix.h"

// sim-matrix: the wide matrix of links in virtual time, one line of CSV a link. Prints; judges nothing.
// Usage: sim-matrix [--rates A,B,..] [--delays ..] [--losses ..] [--bursts ..] [--queues ..] [--seconds N] [--cc NAME]
//   [--jobs N]. rate Mbit/s, delay ms one way, loss %, burst packets, queue rate x RTT.
namespace mcdtp::sim {
namespace {

using Numbers = std::vector<double>;

struct Arguments {
  Numbers rates{kMatrixRates.begin(), kMatrixRates.end()};
  Numbers delays{kMatrixDelays.begin(), kMatrixDelays.end()};
  Numbers losses{kMatrixLosses.begin(), kMatrixLosses.end()};
  Numbers bursts{kMatrixBursts.begin(), kMatrixBursts.end()};
  Numbers queues{kMatrixQueues.begin(), kMatrixQueues.end()};
  double seconds = 20;
  int jobs = 2;
  std::string congestion = "auto";
};

Numbers numbers(const std::string& text) {
  Numbers list;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    list.push_back(std::stod(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return list;
}

Arguments parse(int argc, char** argv) {
  Arguments given;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--rates")
      given.rates = numbers(value);
    else if (name == "--delays")
      given.delays = numbers(value);
    else if (name == "--losses")
      given.losses = numbers(value);
    else if (name == "--bursts")
      given.bursts = numbers(value);
    else if (name == "--queues")
      given.queues = numbers(value);
    else if (name == "--seconds")
      given.seconds = std::stod(value);
    else if (name == "--jobs")
      given.jobs = std::stoi(value);
    else if (name == "--cc")
      given.congestion = value;
    else
      throw std::runtime_error("unknown option " + name);
  }
  return given;
}

std::vector<Path> paths_of(const Arguments& given) {
  std::vector<Path> paths;
  for (const double rate : given.rates)
    for (const double delay : given.delays)
      for (const double queue : given.queues)
        for (const double loss : given.losses)
          for (const double burst : given.bursts) {
            if (loss == 0 && burst > 1) continue;
            paths.push_back(matrix_path(rate, delay, loss, burst, queue));
          }
  return paths;
}

void print(const Path& path, const Measured& m) {
  std::printf("%g,%g,%g,%g,%g,%.3f,%.3f,%.4f,%.3f,%s\n", path.mbps, path.delay_ms, path.queue,
              path.loss * 100, path.loss_burst, m.later, m.whole, m.excess, m.queue,
              m.intact ? "intact" : "BROKEN");
  std::fflush(stdout);
}

// A process for each link, `jobs` at a time.
void run(const Arguments& given) {
  std::printf("mbps,delay_ms,queue,loss_percent,burst,later,whole,excess,standing_queue,bytes\n");
  std::fflush(stdout);
  int running = 0;
  for (const Path& path : paths_of(given)) {
    if (running >= given.jobs && ::wait(nullptr) > 0) --running;
    ++running;
    if (::fork() != 0) continue;
    const Duration least = matrix_start(path) + seconds(1);
    print(path, measure(path, std::max<Duration>(from_seconds(given.seconds), least), given.congestion));
    ::_exit(0);
  }
  while (::wait(nullptr) > 0) {
  }
}

}  // namespace
}  // namespace mcdtp::sim

int main(int argc, char** argv) {
  mcdtp::sim::run(mcdtp::sim::parse(argc, argv));
  return 0;
}
