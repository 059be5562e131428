#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

#include "tests/sim/matrix.h"

// sim-matrix: the wide matrix of links in virtual time, one line of CSV a link. Prints; judges nothing.
namespace mcdtp::sim {
namespace {

constexpr std::string_view kUsage =
    R"(Usage: sim-matrix [OPTION VALUE]...
Measures what one transfer gets of each link of the wide matrix, in virtual time: a line of CSV a link.

  --rates LIST    of the links, Mbit/s            (10,100,500,1000,10000)
  --delays LIST   one way, ms                     (5,25,50,150,300)
  --losses LIST   each way, %                     (0,0.1,1,5,10)
  --bursts LIST   packets lost in a row, the mean (1,4)
  --queues LIST   in rate x RTT, at least 64 KiB  (0.25,1,4)
  --seconds N     of a transfer, and at least 1 s after its start (20)
  --cc NAME       controller: auto, cubic, daimd or none (auto)
  --jobs N        links at a time (2)
  --help          print this

later: share of the link's limit after the first 2 s or 16 RTT, whichever is more; whole: with the start. excess: bytes
sent beyond those needed. standing_queue: share of the queue in use. MCDTP_SIM_SEED chooses the seed.
)";

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

// What main() says in one sentence.
struct Mistake {
  std::string sentence;
};

double number(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0) || value > 1e9)
    throw Mistake{option + ": not a number: " + text};
  return value;
}

Numbers numbers(const std::string& option, const std::string& text) {
  Numbers list;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    list.push_back(number(option, text.substr(at, comma - at)));
    at = comma + 1;
  }
  return list;
}

Arguments parse(int argc, char** argv) {
  Arguments given;
  const std::map<std::string, Numbers*> lists{{"--rates", &given.rates},
                                              {"--delays", &given.delays},
                                              {"--losses", &given.losses},
                                              {"--bursts", &given.bursts},
                                              {"--queues", &given.queues}};
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const auto list = lists.find(name);
    if (list == lists.end() && name != "--seconds" && name != "--jobs" && name != "--cc")
      throw Mistake{"unknown option " + name + ": see --help"};
    if (i + 1 == argc) throw Mistake{name + " wants a value: see --help"};
    const std::string value = argv[i + 1];
    if (list != lists.end())
      *list->second = numbers(name, value);
    else if (name == "--seconds")
      given.seconds = number(name, value);
    else if (name == "--jobs")
      given.jobs = std::max(1, static_cast<int>(number(name, value)));
    else if (make_congestion(value, std::nullopt))
      given.congestion = value;
    else
      throw Mistake{"--cc: no such controller, or one that wants a rate: " + value};
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
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::cout << mcdtp::sim::kUsage;
    return 0;
  }
  try {
    mcdtp::sim::run(mcdtp::sim::parse(argc, argv));
  } catch (const mcdtp::sim::Mistake& mistake) {
    std::cerr << "sim-matrix: " << mistake.sentence << "\n";
    return 2;
  }
  return 0;
}
