// Whether a loader can go on from a saved state.
#pragma once

#include "penstock/loader.h"

namespace penstock {

// `own` is the loader's state now. Fails with kInvalidArgument, saying what differs. Content is compared where both
// sides know it; the list of a sampler only in the middle of an epoch, because each epoch may draw another.
Status check_state(const LoaderState& saved, const LoaderState& own);

}  // namespace penstock
