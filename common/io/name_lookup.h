#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/io/endpoint.h"
#include "common/io/unresolved.h"

namespace mcdtp {

// Looks names up without holding up the event loop: on threads of their own, for a name server that does not answer
// costs its own askers seconds, and nobody else.
class NameLookup {
 public:
  static constexpr std::size_t kMostThreads = 16;
  static constexpr std::size_t kMostWaiting = 4096;

  struct Answer {
    std::vector<Endpoint> addresses;    // none: the name does not resolve,
    std::optional<Unresolved> failure;  // and why not
  };
  using Handler = std::function<void(Answer)>;

  // REQUIRES: the io_context outlives this object.
  explicit NameLookup(asio::io_context& io);
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;
  // Handlers not called by now never are.
  ~NameLookup();

  // `host`: a name, or an address in digits. The handler runs from io_context::run(). `family` as for resolve().
  // Once `asker` is gone, nobody looks for what was not begun. Where too many wait, it does not resolve now.
  void start(const std::string& host, std::uint16_t port, int family, std::weak_ptr<const void> asker,
             Handler handler);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace mcdtp
