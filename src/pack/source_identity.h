// Which data were packed: a packed folder remembers it, so that a run goes on only with the same data.
#pragma once

#include "penstock/source.h"

namespace penstock {

// The fingerprint of the source together with that of its content, because files that were written anew may have the
// same names, sizes and shapes. The content is read in a few places only (content_fingerprint.h), so a change between
// them is not detected. Fails if such a place cannot be read.
Result<std::uint64_t> source_identity(const Source& source);

}  // namespace penstock
