// What Python holds of a source.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "penstock/source.h"

namespace penstock::python {

// nanobind holds shared_ptr<T> of non-const T; the source stays immutable behind it.
struct SourceHandle {
  SourcePtr source;
};

// Paths come as bytes: they need not be text.
inline std::string text_of(const nanobind::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

}  // namespace penstock::python
