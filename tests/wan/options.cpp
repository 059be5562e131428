#include "tests/wan/options.h"

#include <CLI/CLI.hpp>
#include <stdexcept>

namespace mcdtp::wan {
namespace {

using Setter = void (*)(PathSettings&, const std::string&);

void set_both(Options& options, const std::string& name, const std::vector<std::string>& values, Setter set) {
  for (const std::string& value : values) try {
      auto [up, down] = parse_both(value);
      set(options.up, up);
      set(options.down, down);
    } catch (const std::runtime_error& error) {
      throw CLI::ValidationError(name, error.what());
    }
}

void add_both(CLI::App& app, Options& options, const std::string& name, Setter set, const std::string& help) {
  auto apply = [&options, name, set](const std::vector<std::string>& values) {
    set_both(options, name, values, set);
  };
  app.add_option_function<std::vector<std::string>>(name, apply, help)->allow_extra_args(false);
}

void add_capacity(CLI::App& app, Options& options) {
  auto add = [&](const char* name, Setter set, const char* help) { add_both(app, options, name, set, help); };
  add(
      "--rate",
      [](PathSettings& s, const std::string& v) {
        s.rates.insert(s.rates.begin(), parse_rate_step("0:" + v));
      },
      "bit/s of IP bytes, e.g. 100M; unlimited when not given");
  add(
      "--rate-step", [](PathSettings& s, const std::string& v) { s.rates.push_back(parse_rate_step(v)); },
      "AT:RATE, another rate from that second on; may be repeated, in order of time");
  add(
      "--queue", [](PathSettings& s, const std::string& v) { s.queue_bytes = parse_count(v); },
      "bytes that wait at most for the rate; default max(64 KiB, rate x 2 x delay)");
  add(
      "--police", [](PathSettings& s, const std::string& v) { s.policer = parse_policer(v); },
      "RATE:BURST, packets over bit/s and bytes are dropped, not queued");
  add(
      "--police-udp",
      [](PathSettings& s, const std::string& v) {
        s.policer = parse_policer(v);
        s.polices_all = false;
      },
      "the same, for UDP alone");
  add(
      "--mtu", [](PathSettings& s, const std::string& v) { s.mtu = parse_count(v); },
      "larger IP packets vanish, without a message");
  add(
      "--delay", [](PathSettings& s, const std::string& v) { s.delay = parse_milliseconds(v); },
      "ms, one way");
  add(
      "--jitter", [](PathSettings& s, const std::string& v) { s.jitter = parse_milliseconds(v); },
      "up to so many ms more, in order");
  add(
      "--wander", [](PathSettings& s, const std::string& v) { s.wander = parse_milliseconds(v); },
      "up to so many ms more, another every 50 ms and slowly on to it, in order");
}

void add_faults(CLI::App& app, Options& options) {
  auto add = [&](const char* name, Setter set, const char* help) { add_both(app, options, name, set, help); };
  add(
      "--loss", [](PathSettings& s, const std::string& v) { s.loss = parse_share(v); },
      "share of packets lost");
  add(
      "--loss-burst", [](PathSettings& s, const std::string& v) { s.loss_burst = parse_number(v); },
      "mean number of packets lost in a row");
  add(
      "--reorder", [](PathSettings& s, const std::string& v) { s.reorder = parse_share(v); },
      "share of packets held back");
  add(
      "--reorder-delay",
      [](PathSettings& s, const std::string& v) { s.reorder_delay = parse_milliseconds(v); },
      "for so many ms (default 5)");
  add(
      "--duplicate", [](PathSettings& s, const std::string& v) { s.duplicate = parse_share(v); },
      "share of packets that arrive twice");
  add(
      "--corrupt", [](PathSettings& s, const std::string& v) { s.corrupt = parse_share(v); },
      "share of packets with a flipped bit behind the IP header");
  add(
      "--cut", [](PathSettings& s, const std::string& v) { s.cuts.push_back(parse_cut(v)); },
      "FROM-TO, seconds in which all is lost; may be repeated");
}

void add_nat(CLI::App& app, Options& options) {
  auto set = [&options](double length) { options.nat_forget = from_seconds(length); };
  app.add_option_function<double>(
         "--nat-forget", set,
         "a NAT before the near host: its UDP ports are others to the far host, and after so many seconds of "
         "silence "
         "both ways the next packet out comes from a new port and what comes in to the old one is lost")
      ->check(CLI::Range(0.001, 1e6));
}

void add_firewall(CLI::App& app, Options& options) {
  app.add_flag("--firewall", options.firewall,
               "a firewall before the far host: of UDP it lets in only what answers that host");
}

void set_block_udp(Options& options, const std::string& direction) {
  bool both = direction.empty() || direction == "both";
  if (!both && direction != "up" && direction != "down")
    throw CLI::ValidationError("--block-udp", "'" + direction + "' is not up, down or both");
  options.up.block_udp = both || direction == "up";
  options.down.block_udp = both || direction == "down";
}

}  // namespace

void declare(CLI::App& app, Options& options) {
  app.add_option("--near", options.near, "namespace: a name under /run/netns, or a path")->required();
  app.add_option("--far", options.far, "namespace of the other end")->required();
  app.add_option("--device", options.device, "name of the device in both (default wan0)");
  app.add_option("--seed", options.seed, "of everything random (default 1)");
  app.add_option_function<double>(
         "--tick", [&options](double ms) { options.tick = from_seconds(ms / 1e3); },
         "ms between two looks at packets, like a network card's interrupt moderation (default 0.2)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seconds", options.seconds, "end by itself after so long")->check(CLI::NonNegativeNumber);
  app.add_flag_callback(
      "--no-offload", [&options] { options.offload = false; },
      "packets one by one, as from a network card without offloads");
  app.add_option("--flows", options.flows,
                 "write to this file at the end what each flow was delivered in each interval, as CSV");
  app.add_option_function<double>(
         "--interval", [&options](double length) { options.interval = from_seconds(length); },
         "seconds, for --flows (default 1)")
      ->check(CLI::Range(0.001, 1e6));
  add_capacity(app, options);
  add_faults(app, options);
  add_nat(app, options);
  add_firewall(app, options);
  auto block_udp = [&options](const std::string& direction) { set_block_udp(options, direction); };
  app.add_option_function<std::string>("--block-udp", block_udp, "UDP is lost: up, down or both (default)")
      ->expected(0, 1);
}

}  // namespace mcdtp::wan
