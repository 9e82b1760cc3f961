// Batch memory as arrays of other libraries, without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "penstock/array.h"
#include "penstock/result.h"
#include "penstock/transform.h"

namespace penstock::python {

// A writable array over `data` that keeps `owner` alive: NumPy's own, or an object with
// __dlpack__ for everybody else.
nanobind::object numpy_array(void* data, const ArraySpec& spec, std::shared_ptr<void> owner);
nanobind::object dlpack_array(void* data, const ArraySpec& spec, std::shared_ptr<void> owner);

// What a user's function returned; the GIL is held.
Result<OwnedArray> array_from_python(nanobind::handle value);

}  // namespace penstock::python
