// wan-link: joins two network namespaces by a link with a rate, a delay and faults, packet by packet and from
// a seed, so that a real program can be tried on a bad line without one.
//
// It makes a TUN device in each namespace and prints "ready"; the caller (netns.sh) gives them their
// addresses. SIGUSR1 cuts the link and joins it again, SIGUSR2 does so for UDP alone. On SIGTERM, SIGINT or
// the end of --seconds it prints its statistics on stderr in one line.

#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/wan/firewall.h"
#include "tests/wan/forwarder.h"
#include "tests/wan/nat.h"
#include "tests/wan/options.h"
#include "tests/wan/tun.h"

namespace mcdtp::wan {
namespace {

sigset_t our_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) ::sigaddset(&set, signal);
  return set;
}

// The next of our signals; none when `end` came first, 0 after a stop, which ends the wait too.
std::optional<int> next_signal(std::optional<Time> end) {
  sigset_t set = our_signals();
  if (!end) return std::max(::sigwaitinfo(&set, nullptr), 0);
  Duration left = std::max(*end - clock_now(), Duration::zero());
  auto whole = std::chrono::duration_cast<seconds>(left);
  timespec timeout{static_cast<time_t>(whole.count()), static_cast<long>((left - whole).count())};
  int signal = ::sigtimedwait(&set, nullptr, &timeout);
  if (signal > 0) return signal;
  return errno == EINTR ? std::optional<int>(0) : std::nullopt;
}

// Returns when the link shall end.
void obey_signals(Orders& orders, std::optional<Time> end) {
  while (auto signal = next_signal(end)) {
    if (*signal == SIGUSR1) orders.cut = !orders.cut;
    if (*signal == SIGUSR2) orders.block_udp = !orders.block_udp;
    if (*signal == SIGTERM || *signal == SIGINT) return;
  }
}

// A device that goes away ends the whole link, as a signal would.
std::thread start(Forwarder& forwarder) {
  return std::thread([&forwarder] {
    try {
      forwarder.run();
    } catch (const std::runtime_error& error) {
      std::cerr << "wan-link: " << error.what() << '\n';
      ::kill(::getpid(), SIGTERM);
    }
  });
}

// A real link has no neighbours on its processor: its threads run as soon as they want to. Refused to an ordinary
// user, who gets a later link.
void come_first() {
  sched_param lowest{};
  lowest.sched_priority = 1;
  if (::sched_setscheduler(0, SCHED_RR, &lowest) != 0) ::setpriority(PRIO_PROCESS, 0, -20);
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto value = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return value(usage.ru_utime) + value(usage.ru_stime);
}

// Either may be none. The NAT is the near host's, the firewall the far one's.
void put_between(std::optional<Nat>& nat, std::optional<Firewall>& firewall, Forwarder& up, Forwarder& down) {
  up.translate_by([&nat, &firewall](Time now, const OffloadHeader& offload, MutableBytes bytes) {
    if (nat) nat->translate_out(now, offload, bytes);
    return !firewall || firewall->lets_in(bytes);
  });
  down.translate_by([&nat, &firewall](Time now, const OffloadHeader& offload, MutableBytes bytes) {
    if (firewall) firewall->note_out(bytes);
    return !nat || nat->translate_in(now, offload, bytes);
  });
}

void print_statistics(const Options& options, Duration age, const Statistics& up, const Statistics& down,
                      std::uint64_t mappings) {
  Lateness lateness = up.lateness;
  lateness.add(down.lateness);
  std::ostringstream line;
  line << "wan-link seed=" << options.seed << ' ' << describe("up", up) << ' ' << describe("down", down)
       << " nat_mappings=" << mappings << " seconds=" << to_seconds(age) << " cpu_seconds=" << cpu_seconds()
       << " late_p99_ms=" << to_seconds(lateness.quantile(0.99)) * 1e3
       << " late_max_ms=" << to_seconds(lateness.max()) * 1e3 << '\n';
  std::cerr << line.str();
}

void write_flows(const std::string& path, const FlowLog& up, const FlowLog& down) {
  std::ofstream file(path);
  file << "seconds,direction,protocol,source_port,destination_port,packets,bytes\n"
       << up.lines("up") << down.lines("down");
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

int run(const Options& options) {
  sigset_t set = our_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  come_first();
  Tun near(options.near, options.device, options.offload);
  Tun far(options.far, options.device, options.offload);
  Orders orders;
  orders.stop_fd = ::eventfd(0, EFD_CLOEXEC);
  if (orders.stop_fd < 0) throw std::runtime_error("cannot make an eventfd");
  Time begin = clock_now();
  Forwarder up(near, far, Path(options.up, Random(options.seed, 0), begin), options.tick, orders);
  Forwarder down(far, near, Path(options.down, Random(options.seed, 1), begin), options.tick, orders);
  std::optional<Nat> nat;
  if (options.nat_forget) nat.emplace(*options.nat_forget);
  std::optional<Firewall> firewall;
  if (options.firewall) firewall.emplace();
  if (nat || firewall) put_between(nat, firewall, up, down);
  if (!options.flows.empty()) {
    up.log_flows(begin, options.interval);
    down.log_flows(begin, options.interval);
  }
  std::thread up_thread = start(up);
  std::thread down_thread = start(down);
  std::cout << "ready" << std::endl;
  obey_signals(orders,
               options.seconds ? std::optional(begin + from_seconds(*options.seconds)) : std::nullopt);
  orders.stop = true;
  ::eventfd_write(orders.stop_fd, 1);
  up_thread.join();
  down_thread.join();
  print_statistics(options, clock_now() - begin, up.statistics(), down.statistics(),
                   nat ? nat->mappings() : 0);
  if (!options.flows.empty()) write_flows(options.flows, *up.flows(), *down.flows());
  return 0;
}

}  // namespace
}  // namespace mcdtp::wan

int main(int argc, char** argv) {
  CLI::App app("Joins two network namespaces by a link with a rate, a delay and faults.", "wan-link");
  mcdtp::wan::Options options;
  mcdtp::wan::declare(app, options);
  app.footer("An option takes one value for both directions or UP,DOWN, e.g. --loss 0.05,0.01.");
  CLI11_PARSE(app, argc, argv);
  try {
    return mcdtp::wan::run(options);
  } catch (const std::exception& error) {
    std::cerr << "wan-link: " << error.what() << '\n';
    return 1;
  }
}
