// What Python holds of a source.
#pragma once

#include "penstock/source.h"

namespace penstock::python {

// nanobind holds shared_ptr<T> of non-const T; the source stays immutable behind it.
struct SourceHandle {
  SourcePtr source;
};

}  // namespace penstock::python
