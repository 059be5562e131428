#pragma once

#include <cstddef>
#include <string_view>

#include "common/core/types.h"

namespace mcdtp {

// The client's connections beside the first SSH connection, each a stream channel of its own: the control link, and others
// as long as there is use for them. That none can be made changes nothing: SSH is there.
class Links {
 public:
  virtual ~Links() = default;
  // So many: what is missing is made.
  virtual void want(std::size_t count) = 0;
  // The link carries packets.
  virtual void on_proved(ChannelId id) = 0;
  virtual void on_link_end(ChannelId id) = 0;
  // There is something to send, and no way but SSH: none is waited for that may be had.
  virtual void hurry() = 0;
  // Makes none any more; those that stand stay.
  virtual void stop() = 0;
  // Of how many on_proved() was said, and on_link_end() was not.
  virtual std::size_t proved() const = 0;
  // What the one is that was proved last, for the user.
  virtual std::string_view kind() const = 0;
};

}  // namespace mcdtp
