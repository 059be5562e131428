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

  // Where the server may be, its ports still 0: the address that ssh came to, numeric, as the server sees it and then as we
  // do (empty: not known), and then what the name means here, if that is known by now. They differ behind a translated
  // address. None where `to_server` is empty: then the server has bound nothing; none of IPv6 where this host has none. Of
  // the loopback, or of one link, only where what we know ourselves is so.
  std::vector<Endpoint> candidates(const std::string& to_server, const std::string& to_us) const;

 private:
  struct Found;
  std::shared_ptr<Found> found_;
};

}  // namespace mcdtp
