// Chosen samples of a source, including sources whose samples are drawn at random.
#pragma once

#include <vector>

#include "penstock/source.h"

namespace penstock {

// Does the same as subset() in penstock/source.h, but also accepts random patches. subset() refuses them because users
// would mistake the positions of patches for the samples of an epoch.
Result<SourcePtr> choose_samples(SourcePtr source, std::vector<std::uint64_t> indices);

}  // namespace penstock
