#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/ssh_settings.h"
#include "common/io/endpoint.h"

namespace mcdtp {

// Looks a host name up beside the log-in, on a thread of its own: a resolver may take seconds, and then the session
// begins without. REQUIRES: no process is forked after this was made that must die with the main thread.
class FarAddresses {
 public:
  FarAddresses(const std::string& host_name, AddressFamily family);

  // Where the server may be, its ports still 0: `known`, numeric (the address that ssh came to as the server sees
  // it, then as we do), and then what the name means here, if that is known by now. They differ behind a translated
  // address. Empty where the first is: then the server has bound nothing. None of IPv6 where this host
  // has none.
  std::vector<Endpoint> candidates(const std::vector<std::string>& known) const;

 private:
  struct Found;
  std::shared_ptr<Found> found_;
};

}  // namespace mcdtp
