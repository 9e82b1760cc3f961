// The source as Python sees it.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "errors.h"
#include "interruptible.h"
#include "penstock/source.h"

namespace penstock::python {

// nanobind cannot hold a shared_ptr to a const object, which SourcePtr is.
struct SourceHandle {
  SourcePtr source;
};

// Paths are bytes, because they need not be text.
inline std::string text_of(const nanobind::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// Opening may wait for a slow disk or server. Other threads run meanwhile, and Ctrl-C ends the opening.
template <typename Open>
SourceHandle open_without_gil(Open open) {
  return {value_or_raise(run_interruptibly(std::move(open)))};
}

}  // namespace penstock::python
