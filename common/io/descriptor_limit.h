#pragma once

namespace mcdtp {

// As many descriptors as the system lets this process have. Processes started later inherit that: start those that must
// not, the user's command among them, before.
void raise_descriptor_limit();

// The limit is enough for a session.
bool allows_session();

// `newest` was opened last, so that all below it are in use: the limit allows enough beside it for what a session needs.
bool leaves_descriptors(int newest);

}  // namespace mcdtp
