// What Python holds of a source.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "errors.h"
#include "penstock/interruption.h"
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
  Result<SourcePtr> opened = [&] {
    const nanobind::gil_scoped_release release;
    Interruption interruption([] {
      const nanobind::gil_scoped_acquire gil;
      return PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0;
    });
    const Interruption::Scope scope(&interruption, true);
    return open();
  }();
  if (PyErr_Occurred()) throw nanobind::python_error();
  return {value_or_raise(std::move(opened))};
}

}  // namespace penstock::python
