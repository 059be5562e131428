#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <string>

#include "tests/sim/matrix.h"

// sim-matrix: the wide matrix of links in virtual time, one line of CSV a link. Prints; judges nothing.
namespace mcdtp::sim {
namespace {

constexpr const char* kAbout =
    R"(Measures what one transfer gets of each link of the wide matrix, in virtual time: a line of CSV a link.)";
constexpr const char* kColumns =
    R"(later: share of the link's limit after the first 2 s or 16 RTT, whichever is more; whole: with the start. excess: bytes
sent beyond those needed. standing_queue: share of the queue in use. MCDTP_SIM_SEED chooses the seed.)";

constexpr double kMib = 1024 * 1024;

using Numbers = std::vector<double>;

struct Arguments {
  Numbers rates{kMatrixRates.begin(), kMatrixRates.end()};
  Numbers delays{kMatrixDelays.begin(), kMatrixDelays.end()};
  Numbers losses{kMatrixLosses.begin(), kMatrixLosses.end()};
  Numbers bursts{kMatrixBursts.begin(), kMatrixBursts.end()};
  Numbers queues{kMatrixQueues.begin(), kMatrixQueues.end()};
  double seconds = 20;
  double memory = static_cast<double>(Path{}.memory) / kMib;
  int jobs = 2;
  std::string congestion = "auto";
};

// Empty: there is such a controller, and it wants no rate.
std::string fault_of_congestion(const std::string& name) {
  return make_congestion(name, std::nullopt) ? "" : "no such controller, or one that wants a rate: " + name;
}

void add_options(CLI::App& app, Arguments& given) {
  const auto add_list = [&](const char* name, Numbers& list, double least, double most, const char* about) {
    app.add_option(name, list, about)->delimiter(',')->check(CLI::Range(least, most));
  };
  add_list("--rates", given.rates, 0.1, 1e6, "of the links, Mbit/s");
  add_list("--delays", given.delays, 0, 1e4, "one way, ms");
  add_list("--losses", given.losses, 0, 99, "each way, %");
  add_list("--bursts", given.bursts, 1, 1e6, "packets lost in a row, the mean");
  add_list("--queues", given.queues, 0, 1e3, "in rate x RTT, at least 64 KiB");
  app.add_option("--seconds", given.seconds, "of a transfer, and at least 1 s after its start")
      ->check(CLI::Range(0.0, 1e5));
  app.add_option("--memory", given.memory, "of each host for the session, MiB")->check(CLI::Range(8.0, 1e6));
  app.add_option("--cc", given.congestion, "controller: auto, cubic, daimd or none")
      ->check(fault_of_congestion);
  app.add_option("--jobs", given.jobs, "links at a time")->check(CLI::Range(1, 1024));
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
            paths.back().memory = static_cast<std::uint64_t>(given.memory * kMib);
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
  mcdtp::sim::Arguments given;
  CLI::App app(mcdtp::sim::kAbout, "sim-matrix");
  app.footer(mcdtp::sim::kColumns);
  app.option_defaults()->always_capture_default();
  mcdtp::sim::add_options(app, given);
  try {
    app.parse(argc, argv);
    mcdtp::sim::scenario_seed();  // said before there are processes that would each say it
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const std::runtime_error& error) {
    std::cerr << "sim-matrix: " << error.what() << "\n";
    return 2;
  }
  mcdtp::sim::run(given);
  return 0;
}
