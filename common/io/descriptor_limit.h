#pragma once

namespace mcdtp {

// As many descriptors as the system lets this process have. Processes started later inherit that: start those that must
// not, the user's command among them, before.
void raise_descriptor_limit();

}  // namespace mcdtp
