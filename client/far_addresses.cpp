#include "client/far_addresses.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace mcdtp {
namespace {

int family_of(AddressFamily family) {
  return family == AddressFamily::kIpv4 ? AF_INET : family == AddressFamily::kIpv6 ? AF_INET6 : AF_UNSPEC;
}

}  // namespace

// Shared with the thread, which may outlive us.
struct FarAddresses::Found {
  std::mutex mutex;
  std::vector<Endpoint> addresses;
};

FarAddresses::FarAddresses(const std::string& host_name, AddressFamily family)
    : found_(std::make_shared<Found>()) {
  // Signals are the main thread's: the new one inherits the mask.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([found = found_, host_name, family] {
    try {
      auto addresses = resolve(host_name, 0, family_of(family));
      const std::lock_guard lock(found->mutex);
      found->addresses = std::move(addresses);
    } catch (const std::runtime_error&) {
      // Not a name here, as behind a proxy: the address of the greeting is what is left.
    }
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::vector<Endpoint> FarAddresses::candidates(const std::vector<std::string>& known) const {
  std::vector<Endpoint> result;
  const auto add = [&](const Endpoint& address) {
    if (std::find(result.begin(), result.end(), address) == result.end()) result.push_back(address);
  };
  for (const std::string& text : known) {
    if (const auto address = Endpoint::from_text(text, 0)) add(*address);
    if (result.empty()) return result;
  }
  const std::lock_guard lock(found_->mutex);
  for (const Endpoint& address : found_->addresses) add(address);
  return result;
}

}  // namespace mcdtp
