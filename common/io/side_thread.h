#pragma once

#include <functional>

namespace mcdtp {

// Runs `work` in a thread of its own that nobody waits for: signals stay the main thread's. `work` throws nothing, and
// owns what it uses. False: there is no thread to be had.
bool start_side_thread(std::function<void()> work);

}  // namespace mcdtp
