#pragma once

#include <sys/uio.h>

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "common/io/descriptor.h"
#include "common/io/pump.h"

namespace mcdtp {

// For what nobody asked for: without a command stdout is not ours to touch.
class NullSink : public Sink {
 public:
  IoResult write(std::span<const iovec> buffers) override { return all_of(buffers); }
  void async_wait_writable(WaitHandler) override {}
  void finish() override {}

  static IoResult all_of(std::span<const iovec> buffers) {
    std::size_t size = 0;
    for (const iovec& buffer : buffers) size += buffer.iov_len;
    return {IoResult::Status::kBytes, size, 0};
  }
};

// stdout of -W. When it takes no more the connection goes on to its end, as with ssh: what comes goes nowhere.
class ConnectionSink : public DescriptorSink {
 public:
  // `on_lost`: called once, with errno; 0: its reader has closed it.
  ConnectionSink(std::shared_ptr<Descriptor> to, std::function<void(int)> on_lost)
      : DescriptorSink(std::move(to)), on_lost_(std::move(on_lost)) {}
  IoResult write(std::span<const iovec> buffers) override {
    if (is_lost_) return NullSink::all_of(buffers);
    const IoResult result = DescriptorSink::write(buffers);
    is_lost_ = result.status == IoResult::Status::kEnd || result.status == IoResult::Status::kError;
    if (!is_lost_) return result;
    on_lost_(result.status == IoResult::Status::kError ? result.error : 0);
    return NullSink::all_of(buffers);
  }

 private:
  std::function<void(int)> on_lost_;
  bool is_lost_ = false;
};

}  // namespace mcdtp
