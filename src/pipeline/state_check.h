// Checks whether a loader can continue from a saved state.
#pragma once

#include "penstock/loader.h"

namespace penstock {

// `own` is the present state of the loader. Fails with kInvalidArgument and says what differs. Content is compared if
// both states have it; the list of a sampler is compared only within an epoch, because each epoch may have another.
Status check_state(const LoaderState& saved, const LoaderState& own);

}  // namespace penstock
