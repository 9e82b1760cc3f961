// Chosen samples of a source, also of one whose samples are drawn and have no list of their own.
#pragma once

#include <vector>

#include "penstock/source.h"

namespace penstock {

// As subset() in penstock/source.h, which refuses random patches since users would take their places for
// samples of an epoch.
Result<SourcePtr> choose_samples(SourcePtr source, std::vector<std::uint64_t> indices);

}  // namespace penstock
