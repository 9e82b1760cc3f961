// What Python holds of a source.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "errors.h"
#include "interruptible.h"
#include "penstock/source.h"

namespace penstock::python {

// nanobind holds shared_ptr<T> of non-const T; the source stays immutable behind it.
struct SourceHandle {
  SourcePtr source;
};

// Paths come as bytes: they need not be text.
inline std::string text_of(const nanobind::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// Opening may wait for a slow disk or server: others run meanwhile, and Ctrl-C ends it.
template <typename Open>
SourceHandle open_without_gil(Open open) {
  return {value_or_raise(run_interruptibly(std::move(open)))};
}

}  // namespace penstock::python
